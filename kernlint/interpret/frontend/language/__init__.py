"""The types of the functions of `triton.language`: a file for each kind, with the `TABLE` of those that it knows."""
