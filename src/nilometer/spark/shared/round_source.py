"""`format("nilometer-pipeline")`: the rounds of a pipeline as a streaming source of Spark.

Spark's offset is the number of a round. Spark asks for the next one, has it run, and asks again; the results are passed to
the owner aside (hand_over.py). A run begins with an empty checkpoint: the commit log says where it begins, not Spark.

This module imports nothing heavy, because Spark starts several processes for every source, most of which only ask for its
schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    import pyarrow as pa

    from nilometer.spark.shared.hand_over import Giver
    from nilometer.spark.shared.round_work import RoundWork

NAME = "nilometer-pipeline"
COLUMNS = "part int"


class RoundSource(DataSource):
    """A pipeline's rounds. The options are those of a run (round_work.py)."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return NAME

    def schema(self) -> str:
        """A column, because Spark wants one; there are no rows."""
        return COLUMNS

    def streamReader(self, schema: StructType) -> RoundStreamReader:  # noqa: N802, ARG002 - Spark's names
        """The rounds."""
        return RoundStreamReader(dict(self.options))


class RoundStreamReader(DataSourceStreamReader):
    """The planning methods run in one process beside the driver, `read` in the executors."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._work: RoundWork | None = None
        self._giver: Giver | None = None

    @property
    def work(self) -> RoundWork:
        """The planner's work, made at the first use."""
        from nilometer.spark.shared.round_work import RoundWork

        if self._work is None:
            self._work = RoundWork(self._options)
        return self._work

    @property
    def giver(self) -> Giver:
        """The way to the owner, opened at the first use."""
        from nilometer.spark.shared.hand_over import Giver

        if self._giver is None:
            self._giver = Giver(Path(self._options["folder"]))
        return self._giver

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first round."""
        return {"round": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any = None) -> dict[str, Any]:  # noqa: N802, ARG002
        """The next round; equal to `start` if there is nothing to do."""
        return {"round": self.work.latest(int(start["round"]), self._give)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a round; none if it is small: then it is run here. Spark begins with a micro-batch even if there is
        nothing to read."""
        if end == start:
            return []
        number = int(end["round"])
        tasks = self.work.tasks(number)
        self._give(number, len(tasks))
        return [InputPartition(task) for task in tasks]

    def _give(self, number: int, tasks: int) -> None:
        self.giver.give(number, tasks)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Run a task."""
        from nilometer.spark.shared.round_work import read_task

        return read_task(partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        """A round is committed."""

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_work": None, "_giver": None}
