"""Benchmarks, by the name that `nilometer bench` takes."""

from nilometer.laboratory.benchmarks.edge import edge
from nilometer.laboratory.benchmarks.operators import operators
from nilometer.laboratory.benchmarks.result import Result, table

BENCHMARKS = {"operators": operators, "edge": edge}

__all__ = ["BENCHMARKS", "Result", "table"]
