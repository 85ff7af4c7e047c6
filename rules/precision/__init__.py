"""Element types and dot precision: work done in a wider type than the data needs."""
