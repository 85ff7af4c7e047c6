"""Operators: one general transformation each, with the places where it may be tried, the proof that it is legal there or the reason
why it is not, and the program with it made. Rules name and word what operators prove."""
