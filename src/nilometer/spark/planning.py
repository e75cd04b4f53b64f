"""The source's side of a micro-batch: where it ends, which tasks read it, and what a task returns to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from nilometer.errors import ConfigurationError
from nilometer.log import Offset
from nilometer.spark.admission import Admission
from nilometer.spark.ends import told_ends
from nilometer.spark.faults import carried
from nilometer.spark.job import digest_of, job_of
from nilometer.spark.layout import BucketFlow
from nilometer.spark.layout.text import text_of
from nilometer.spark.packing import ANSWER
from nilometer.spark.places import Places
from nilometer.spark.processor import STATE_FORMAT
from nilometer.spark.reading import Task, packets_of

PACKETS = pa.schema([("key", pa.int32()), ("packet", pa.binary())])

DIVISION = "division"


class Planner:
    """Plans the micro-batches of a job, one after the other."""

    def __init__(self, text: str) -> None:
        self.job = job_of(text)
        self._admission = Admission(self.job.streams, self.job.logs)
        self._until: Mapping[str, Offset] | None = None

    @property
    def start(self) -> Places:
        """Where the query begins."""
        return Places.at(self.job.start)

    def close_logs(self) -> None:
        """Read nothing beyond the present ends of the logs."""
        self._until = self._admission.ends()

    @property
    def begin(self) -> dict[str, Any]:
        """Where the query begins, as an offset of Spark's."""
        return self._marked(self.start)

    def latest(self, start: dict[str, Any], limit: int | None) -> dict[str, Any]:
        """The end of the next micro-batch of at most `limit` rows; equal to `start` if there is nothing new."""
        with carried():
            self._check(start)
            return self._marked(self._latest(Places.of_json(start), limit))

    @cached_property
    def _division(self) -> str | None:
        """A hash of what the state in a checkpoint depends on; None if the job keeps none."""
        if not self.job.layout.stages:
            return None
        fragments = text_of(replace(self.job.layout, reasons=()))
        return digest_of(f"{STATE_FORMAT} {self.job.partitions} {fragments}")

    def _marked(self, places: Places) -> dict[str, Any]:
        """An offset that also says to which division of the query the state beside it belongs."""
        return places.as_json() | ({DIVISION: self._division} if self._division else {})

    def _check(self, start: dict[str, Any]) -> None:
        """Refuse a checkpoint whose state is divided otherwise, or does not say how, as those of older releases."""
        if start.get(DIVISION) != self._division:
            raise ConfigurationError(
                "this checkpoint does not fit: its state is of another query, or divided otherwise",
                detail=f"now there are {self.job.buckets} buckets and {self.job.partitions} partitions",
                hint="set `buckets` and spark.sql.shuffle.partitions as they were; if the query or the release has changed,"
                " give a new checkpointLocation: answers then begin where the logs begin, so write them to a new place",
            )

    def _latest(self, begin: Places, limit: int | None) -> Places:
        job, end = self.job, begin
        if job.answered is not None:
            # Answers from before a checkpoint was lost are computed again, exactly up to where they end.
            end = self._admission.latest(begin, limit, job.answered)
        ends = told_ends(job.ends_at)
        if end == begin:
            end = self._admission.latest(begin, limit, ends if self._until is None else self._until)
        reached = frozenset(name for name, at in ends.items() if end.streams[name].offset >= at)
        if not reached <= end.over:
            end = replace(end, over=end.over | reached)
        closing = job.ends or not job.streams
        if closing and not end.ended and self._admission.latest(end, 1, self._until) == end:
            end = replace(end, ended=True)
        return end

    def tasks(self, start: dict[str, Any], end: dict[str, Any]) -> list[Task]:
        """The tasks of a micro-batch."""
        with carried():
            self._check(start)
            return self._tasks(Places.of_json(start), Places.of_json(end))

    def all_tasks(self) -> list[Task]:
        """The tasks for everything in the logs, as one micro-batch."""
        with carried():
            end = self._admission.latest(self.start, None)
            return self._tasks(self.start, Places(end.streams, ended=self.job.ends))

    def _tasks(self, start: Places, end: Places) -> list[Task]:
        clock = end.clock(self.job.leaves)
        pieces = self._admission.pieces(start, end, self.job.partitions) or [[]]
        return [Task(number, clock, tuple(part), end) for number, part in enumerate(pieces)]

    def forget(self, end: dict[str, Any]) -> None:
        """Forget everything before this end, which is not asked for again."""
        self._admission.forget(Places.of_json(end))


_FLOWS: dict[str, dict[int, BucketFlow]] = {}
_REMEMBERED = 64


def read_task(text: str, task: Task) -> Iterator[pa.RecordBatch]:
    """A task's packets, each as a batch of one row, since packets may be large."""
    job = job_of(text)
    if len(_FLOWS) > _REMEMBERED:
        _FLOWS.clear()
    flows = _FLOWS.setdefault(digest_of(text), {})
    with carried():
        for packet in packets_of(job, task, flows):
            key = 0 if packet.target == ANSWER else job.keys[packet.target, packet.bucket]
            yield pa.RecordBatch.from_pydict({"key": [key], "packet": [packet.pack()]}, schema=PACKETS)
