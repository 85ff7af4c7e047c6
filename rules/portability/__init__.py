"""Code that works on some devices or versions only."""
