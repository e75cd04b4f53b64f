"""Benchmarks, by the name that `nilometer bench` takes. That on Spark has options of its own."""

from nilometer.laboratory.benchmarks.edge import edge
from nilometer.laboratory.benchmarks.joins import joins
from nilometer.laboratory.benchmarks.operators import operators
from nilometer.laboratory.benchmarks.result import Result, table

SPARK = "spark"
BENCHMARKS = {"operators": operators, "edge": edge, "joins": joins}
NAMES = (*BENCHMARKS, SPARK)

__all__ = ["BENCHMARKS", "NAMES", "SPARK", "Result", "table"]
