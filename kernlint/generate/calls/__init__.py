"""What torch's functions do, as values: elementwise operations, reductions, products, choices and picks."""
