"""Benchmarks, by the name that `nilometer bench` takes. The benchmarks of joins and on Spark have options of
their own.
"""

from nilometer.laboratory.benchmarks.compression import compression
from nilometer.laboratory.benchmarks.demand import demand
from nilometer.laboratory.benchmarks.edge import edge
from nilometer.laboratory.benchmarks.guided import guided
from nilometer.laboratory.benchmarks.http import http
from nilometer.laboratory.benchmarks.joins import joins
from nilometer.laboratory.benchmarks.memory import memory
from nilometer.laboratory.benchmarks.mining import mining
from nilometer.laboratory.benchmarks.operators import operators
from nilometer.laboratory.benchmarks.overlay import overlay
from nilometer.laboratory.benchmarks.phenomena import phenomena
from nilometer.laboratory.benchmarks.placement import placement
from nilometer.laboratory.benchmarks.prediction import prediction
from nilometer.laboratory.benchmarks.queries import queries
from nilometer.laboratory.benchmarks.result import Result, table
from nilometer.laboratory.benchmarks.sensorthings import sensorthings
from nilometer.laboratory.benchmarks.simulator import simulator
from nilometer.laboratory.benchmarks.truth import truth

SPARK, JOINS, OVERLAY, PHENOMENA, QUERIES = "spark", "joins", "overlay", "phenomena", "queries"
BENCHMARKS = {
    "operators": operators,
    "edge": edge,
    "memory": memory,
    "placement": placement,
    "simulator": simulator,
    QUERIES: queries,
    "demand": demand,
    "http": http,
    "sensorthings": sensorthings,
    PHENOMENA: phenomena,
    "mining": mining,
    "prediction": prediction,
    "guided": guided,
    OVERLAY: overlay,
    "compression": compression,
    "truth": truth,
}
NAMES = (*BENCHMARKS, JOINS, SPARK)

__all__ = [
    "BENCHMARKS",
    "JOINS",
    "NAMES",
    "OVERLAY",
    "PHENOMENA",
    "QUERIES",
    "SPARK",
    "Result",
    "joins",
    "overlay",
    "phenomena",
    "queries",
    "table",
]
