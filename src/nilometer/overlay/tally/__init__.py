"""Aggregates of joins among peers, from counts and sums per key."""
