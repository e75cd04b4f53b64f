"""Bound expressions over frames, with overflow as an error and never as a wrong number."""
