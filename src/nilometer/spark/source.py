"""`format("nilometer")`: a query's packets as a data source of Spark, streaming and batch.

A thin layer over planning.py, which handles offsets, limits and tasks. The option `job` is a packed job
(job.py). This module imports nothing heavy, because Spark starts several processes for every source, most of
which only ask for its schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    import pyarrow as pa

    from nilometer.spark.planning import Planner

NAME = "nilometer"
COLUMNS = "key int, packet binary"


class PacketSource(DataSource):
    """A query's packets: one row per bucket and task of a micro-batch."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return NAME

    def schema(self) -> str:
        """The schema of a packet."""
        return COLUMNS

    def streamReader(self, schema: StructType) -> PacketStreamReader:  # noqa: N802, ARG002 - Spark's names
        """Micro-batches of packets."""
        return PacketStreamReader(self.options["job"])

    def reader(self, schema: StructType) -> PacketReader:  # noqa: ARG002
        """All packets at once, from the logs as they are now."""
        return PacketReader(self.options["job"])


class PacketStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Micro-batches. The planning methods run in one process beside the driver, `read` in the executors."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._planner: Planner | None = None

    @property
    def planner(self) -> Planner:
        """The planner, made at the first use: the executors do not plan."""
        from nilometer.spark.planning import Planner

        if self._planner is None:
            self._planner = Planner(self._text)
        return self._planner

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where the query begins."""
        return self.planner.begin

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The size of a micro-batch."""
        limit = self.planner.job.max_rows
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read nothing beyond the present ends of the logs."""
        self.planner.close_logs()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next micro-batch; equal to `start` if there is nothing new."""
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return self.planner.latest(start, rows)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a micro-batch."""
        return [InputPartition(task) for task in self.planner.tasks(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The packets of a task."""
        from nilometer.spark.planning import read_task

        return read_task(self._text, partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        """A micro-batch is committed."""
        self.planner.forget(end)

    def __getstate__(self) -> dict[str, Any]:
        return {"_text": self._text, "_planner": None}


class PacketReader(DataSourceReader):
    """The logs as they are now, as one micro-batch."""

    def __init__(self, text: str) -> None:
        self._text = text

    def partitions(self) -> list[InputPartition]:
        """The tasks."""
        from nilometer.spark.planning import Planner

        return [InputPartition(task) for task in Planner(self._text).all_tasks()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The packets of a task."""
        from nilometer.spark.planning import read_task

        return read_task(self._text, partition.value)
