"""Aggregates over joins of time windows, from partial aggregates per input and key. No joined row is ever
built.
"""
