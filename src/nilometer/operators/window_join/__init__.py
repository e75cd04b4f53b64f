"""The W-join: a join over the windows of N streams, in STEAM's three forms (nested loops, hash, mixed)."""
