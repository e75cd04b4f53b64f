"""Runs rounds: in the process in which Spark plans them, or in tasks.

The result of a round that is run where it was planned is a file for the owner, because no task brings it to the driver.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.errors import InternalError
from nilometer.spark.faults import carried
from nilometer.spark.shared.graph_flow import GraphFlow
from nilometer.spark.shared.round_planner import RoundPlanner
from nilometer.spark.shared.rounds import RoundResult

if TYPE_CHECKING:
    import pyarrow as pa

RESULT = "result"


class RoundWork:
    """The rounds of one run. The options: `place`, the data directory; `folder`, that of the run; `max_rows`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._folder = Path(options["folder"])
        self._planner = RoundPlanner(options["place"], self._folder, int(options["max_rows"]))
        self._flow = GraphFlow(options["place"])

    def latest(self, start: int) -> int:
        """The number of the next round, or of the one before it if there is nothing to do."""
        with carried():
            round_ = self._planner.next()
            return start if round_ is None else round_.number

    def tasks(self, number: int) -> list[Any]:
        """Run a round here, or return its tasks."""
        with carried():
            round_ = self._planner.next()
            if round_ is None or round_.number != number:
                raise InternalError(f"round {number} is not the next one")
            result = self._flow.run(round_)
            result.way = "planner"
            write_result(self._folder, result)
            self._planner.done(round_)
            return []


def write_result(folder: Path, result: RoundResult) -> None:
    """Leave a result for the owner."""
    aside = folder / f"{RESULT}.aside"
    aside.write_bytes(pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL))
    os.replace(aside, folder / RESULT)


def read_result(folder: Path) -> RoundResult:
    """The result that was left last."""
    found: RoundResult = pickle.loads((folder / RESULT).read_bytes())
    return found


def read_task(task: Any) -> Iterator[pa.RecordBatch]:
    """The result of a task."""
    raise InternalError(f"no task {task}")
