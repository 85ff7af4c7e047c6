"""From findings to one answer."""
