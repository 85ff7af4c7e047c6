"""Consecutive steps that could be one kernel."""
