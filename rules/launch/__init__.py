"""Launches, host work and host syncs that could be fewer."""
