"""Analytic functions: columns computed over the ordered rows of each partition, per evaluation or over time."""
