"""Code that computes the wrong thing for some input."""
