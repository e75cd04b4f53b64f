"""Aggregates over joins of time windows, from partial aggregates per input and key: no joined row is ever made."""
