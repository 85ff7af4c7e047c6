"""What the accesses of a launch ask of memory, from their index expressions.

`accesses` goes through a kernel and makes the `model` of its traffic; `probe` samples the grid, `masks` counts lanes, `sectors` what
lanes touch, `reuse` what comes again.
"""
