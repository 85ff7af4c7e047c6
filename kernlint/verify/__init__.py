"""Proves a change: the only stage that runs the code it is given, always in a child process with limits."""
