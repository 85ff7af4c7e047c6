"""What a call could take: its bound, an achievable version of the same computation, and where the difference goes."""
