"""Fitting the cost model to the card at hand: ``kernlint calibrate``."""
