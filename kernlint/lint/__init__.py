"""``kernlint check``: the analysis as a linter over many files, one finding a line."""
