"""Fuzzing of every parser: bytes that nobody would send must give an error of ours, or a value."""
