"""Whether a program computes what its reference does: both as values, looked at in a few elements of the result."""
