"""torch's functions, methods and layers on abstract tensors: what each gives, and the device work it takes.

A file for each kind of function, with the `TABLE` of those that it knows; `functions` puts the tables together and is what callers
ask, `layers` is `torch.nn` on top of it. Below all of them `shapes` and `arguments` know no function. The state of the host that all
work on is handed to them; they import nothing of `kernlint.interpret.host` but to name its type.
"""
