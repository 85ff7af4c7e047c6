"""What the functions of `triton.language` do to abstract tiles: a file for each kind, with the `TABLE` of those that it knows."""
