"""One page about many programs: ``kernlint report``."""
