"""Kernels written from values: what a computation makes of its inputs, as Triton source of known good forms."""
