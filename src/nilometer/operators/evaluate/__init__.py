"""Evaluates bound expressions over frames. An overflow is an error and never a wrong number."""
