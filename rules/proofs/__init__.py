"""Proofs that several rules share."""
