REASONS: dict[str, str] = {}
