"""Performance data that the user has already: latencies and the output of profilers, read into one form."""
