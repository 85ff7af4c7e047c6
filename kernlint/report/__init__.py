"""How people and machines want to read a verdict."""
