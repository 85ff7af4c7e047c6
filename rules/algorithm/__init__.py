"""Another way to compute the same result."""
