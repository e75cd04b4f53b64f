"""Aggregates over a time window as one operator: partial aggregates per slice, combined at each
evaluation.
"""
