"""The gateway host, in-process: physical plans over finite logs, by event time."""

from nilometer.dataflow.pulled import BATCH_ROWS
from nilometer.dataflow.run import Run, Summary, run
from nilometer.dataflow.sources import (
    Batch,
    Entry,
    Extents,
    Heartbeat,
    MemorySources,
    Sources,
    TableVersion,
)

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "Entry",
    "Extents",
    "Heartbeat",
    "MemorySources",
    "Run",
    "Sources",
    "Summary",
    "TableVersion",
    "run",
]
