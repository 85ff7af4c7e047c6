"""Device time of launches without tensor-core work.

`resources`, `caches`, `paths`, `loops`, `terms` and `atomics` are classes, each on top of the one before, of what a launch asks of a
device; `price` adds it up, and explains the terms. `constants` and `scale` are where the numbers come from.
"""
