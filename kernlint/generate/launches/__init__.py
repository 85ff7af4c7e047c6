"""Kernel launches as values over index spaces: what torch calls are to :mod:`kernlint.generate.calls`."""
