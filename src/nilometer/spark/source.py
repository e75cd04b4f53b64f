"""`format("nilometer")`: stream logs as a data source of Spark, streaming and batch.

A query's own source has the option `job` (job.py) and gives packets, one row for each bucket and task of a micro-batch. Its offsets
are places.py's, its admission control and partitions admission.py's, its work reading.py's.

For users, `spark.readStream.format("nilometer").load(directory)` with the option `stream` gives a stream's readings as they stand
in its log, typed (stream_source.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from nilometer.spark.admission import Admission
from nilometer.spark.faults import carried
from nilometer.spark.job import Job, digest_of, job_of
from nilometer.spark.layout import FragmentFlow
from nilometer.spark.packing import ANSWER, COLUMNS
from nilometer.spark.places import Place, Places
from nilometer.spark.reading import Task, packets_of

NAME = "nilometer"
PACKETS = pa.schema([("key", pa.int32()), ("packet", pa.binary())])


class PacketSource(DataSource):
    """A query's packets."""

    @classmethod
    def name(cls) -> str:
        """Of the format."""
        return NAME

    def schema(self) -> str:
        """Of a packet."""
        return COLUMNS

    def streamReader(self, schema: StructType) -> PacketStreamReader:  # noqa: N802, ARG002 - Spark's names
        """Micro-batches of packets."""
        return PacketStreamReader(self.options["job"])

    def reader(self, schema: StructType) -> PacketReader:  # noqa: ARG002
        """All packets at once: the logs as they are now."""
        return PacketReader(self.options["job"])


class _Part(InputPartition):
    """A task, by what it reads."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task


_FLOWS: dict[str, dict[int, FragmentFlow]] = {}


def _read(text: str, part: InputPartition) -> Iterator[pa.RecordBatch]:
    """A task's packets, each as a batch of one row: they may be large."""
    assert isinstance(part, _Part)
    job = job_of(text)
    if len(_FLOWS) > 64:
        _FLOWS.clear()
    flows = _FLOWS.setdefault(digest_of(text), {})
    with carried():
        for packet in packets_of(job, part.task, flows):
            key = 0 if packet.target == ANSWER else job.keys[packet.target, packet.bucket]
            yield pa.RecordBatch.from_pydict({"key": [key], "packet": [packet.pack()]}, schema=PACKETS)


def _parts(job: Job, admission: Admission, start: Places, end: Places) -> list[InputPartition]:
    clock = end.clock(job.leaves)
    pieces = admission.pieces(start, end, job.tasks) or [[]]
    return [_Part(Task(number, clock, tuple(part), end)) for number, part in enumerate(pieces)]


class PacketStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Micro-batches. The planning methods run in one process beside the driver, `read` in the executors."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._until: dict[str, Place] | None = None
        self._admission: Admission | None = None

    def _planner(self) -> tuple[Job, Admission]:
        job = job_of(self._text)
        if self._admission is None:
            self._admission = Admission(job.streams, job.logs)
        return job, self._admission

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where the query begins."""
        return job_of(self._text).start.as_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The size of a micro-batch."""
        limit = job_of(self._text).max_rows
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there now is all that there is."""
        self._until = self._planner()[1].ends()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next micro-batch; the same as `start` if there is nothing new."""
        with carried():
            return self._latest(Places.of_json(start), limit).as_json()

    def _latest(self, begin: Places, limit: ReadLimit) -> Places:
        job, admission = self._planner()
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end = begin
        if job.replay is not None and begin.offsets != job.replay.offsets:
            # What was answered before a checkpoint was lost is made again, up to just where it was answered.
            end = admission.latest(begin, rows, job.replay.streams)
        if end == begin:
            end = admission.latest(begin, rows, self._until)
        if (job.ends or not job.streams) and not end.ended and admission.latest(end, 1, self._until) == end:
            end = Places(end.streams, ended=True)
        return end

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a micro-batch."""
        job, admission = self._planner()
        with carried():
            return _parts(job, admission, Places.of_json(start), Places.of_json(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What a task gives."""
        return _read(self._text, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """A micro-batch is done with: its headers are forgotten."""
        self._planner()[1].forget(Places.of_json(end))

    def __getstate__(self) -> dict[str, Any]:
        return {"_text": self._text, "_until": None, "_admission": None}


class PacketReader(DataSourceReader):
    """The logs as they are now, as one micro-batch."""

    def __init__(self, text: str) -> None:
        self._text = text

    def partitions(self) -> list[InputPartition]:
        """The tasks."""
        job = job_of(self._text)
        admission = Admission(job.streams, job.logs)
        end = admission.latest(job.start, None)
        return _parts(job, admission, job.start, Places(end.streams, ended=job.ends))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What a task gives."""
        return _read(self._text, partition)
