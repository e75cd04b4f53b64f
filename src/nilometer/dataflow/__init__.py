"""The in-process runtime: it runs physical plans by event time.

There are two ways to run a plan, and both work in rounds. A round brings a batch of readings, moves the
watermark and steps every operator once.

- `run.py` runs one plan over finite logs. It pulls the readings itself.
- `graph.py` runs many live queries in one graph. Readings are pushed into it.

Read in this order: `sources.py` (the input), `door.py` (ticks and lateness), `watermark.py`, `stages.py` and
`dataflow.py` (the operators of a plan), `pace.py` (rounds), `pulled.py` and `run.py`. For many queries go on
with `pushed.py`, `group.py`, `start.py`, `schedulers.py` and `graph.py`.
"""

from nilometer.dataflow.pulled import BATCH_ROWS
from nilometer.dataflow.run import Run, RunSummary, run
from nilometer.dataflow.sources import (
    Batch,
    Entry,
    Extents,
    Heartbeat,
    MemorySources,
    Sources,
    Summaries,
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
    "Summaries",
    "RunSummary",
    "TableVersion",
    "run",
]
