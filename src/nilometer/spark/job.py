"""A query in the form that Spark's workers receive: one frozen value, packed as bytes.

A worker process serves many micro-batches. It keeps what it builds from a job (compiled expressions, flows)
by the job's name, so that a micro-batch costs only what is new in it.
"""

from __future__ import annotations

import contextlib
import pickle
import zlib
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import blake2b
from typing import Any

import polars as pl

from nilometer.catalog.extents import Sensor, Stream, Table
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.watermark import Leaf, leaves
from nilometer.errors import DataError, ResourceError, UnsupportedError
from nilometer.log import LogDirectory, Offset, StreamLog
from nilometer.operators.frames import from_bytes, to_bytes
from nilometer.plan import physical
from nilometer.spark.layout import Fragment, Layout, lay_out
from nilometer.spark.packing import Address, keys_of
from nilometer.spark.records import columns_read


@dataclass(frozen=True)
class TablesAtHand:
    """The snapshots of the stored tables and the declared sensors, by lower-case name, as they were when the
    query began.
    """

    tables: Mapping[str, bytes] = field(default_factory=dict)
    declared: Mapping[str, tuple[Sensor, ...]] = field(default_factory=dict)

    @staticmethod
    def of(frames: Mapping[str, pl.DataFrame], declared: Mapping[str, Sequence[Sensor]]) -> TablesAtHand:
        """Made from frames."""
        tables = {name: to_bytes(frame) for name, frame in frames.items()}
        return TablesAtHand(tables, {name: tuple(sensors) for name, sensors in declared.items()})

    @staticmethod
    def of_plan(plan: physical.Node, extents: Extents) -> TablesAtHand:
        """The present tables of a plan, and the sensors of its streams."""
        tables = {name: extents.table(table) for name, table in physical.tables_of(plan).items()}
        sensors = {name: extents.sensors(stream) for name, stream in physical.streams_of(plan).items()}
        return TablesAtHand.of(tables, sensors)

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored extent."""
        return from_bytes(self.tables[table.name.lower()])

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.declared.get(stream.name.lower(), ())


@dataclass(frozen=True)
class Job:
    """A query to run.

    `place` is the data directory (or URL) of the logs. `start` is where a query without a checkpoint begins,
    by the lower-case names of its streams. `answered` is the offset up to which it has answered before, if it
    has; a micro-batch ends exactly there. `ends`: the logs no longer grow, and their end is the end of event
    time. `ends_at`: a file beside the driver that says where streams end, once their sources have ended
    (ends.py). `max_rows` is the size of a micro-batch. `partitions` is the number of tasks into which it is
    divided where it is read and after each shuffle. `buckets` is the number of parts into which keys are
    divided. `skips`: rows without a value because of such an error are set aside, and do not stop the query.
    """

    name: str
    plan: physical.Node
    extents: TablesAtHand
    place: str
    start: Mapping[str, Offset]
    buckets: int
    partitions: int
    answered: Mapping[str, Offset] | None = None
    ends: bool = False
    ends_at: str | None = None
    max_rows: int | None = None
    skips: type[DataError] | None = None

    @cached_property
    def layout(self) -> Layout:
        """The division of the plan into fragments."""
        return lay_out(self.plan, self.buckets, combine=True)

    @cached_property
    def streams(self) -> dict[str, Stream]:
        """The streams that are read, by lower-case name."""
        return physical.streams_of(self.plan)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The occurrences of streams."""
        return leaves(self.plan)

    @cached_property
    def keys(self) -> dict[Address, int]:
        """Spark's grouping keys."""
        return keys_of(self.layout, self.partitions)

    @cached_property
    def readers(self) -> dict[str, list[Fragment]]:
        """The fragments that run in the reader, by the stream they read."""
        found: dict[str, list[Fragment]] = {name: [] for name in self.streams}
        for fragment in self.layout.of_stage(0):
            for name in physical.streams_of(fragment.plan):
                found[name].append(fragment)
        return found

    @cached_property
    def readers_of_tables(self) -> list[Fragment]:
        """The fragments that run in the reader and read no stream."""
        return [each for each in self.layout.of_stage(0) if not physical.streams_of(each.plan)]

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        """The columns of each stream that are read, in lower case: those of the plan, and time and id."""
        return columns_read([self.plan], self.streams)

    @cached_property
    def logs(self) -> dict[str, StreamLog]:
        """The streams' logs."""
        directory = LogDirectory(self.place)
        return {name: directory.log(stream) for name, stream in self.streams.items()}

    def keep_keys(self) -> None:
        """Record the doubles by KEY in the logs (log/doubles.py), before many tasks read them. If another
        process writes a log, its entrance has recorded them. If nothing can be written, they are not
        recorded.
        """
        for name, log in self.logs.items():
            if self.streams[name].key and log.exists and not log.recorded_doubles.key:
                with contextlib.suppress(ResourceError), log:
                    log.keep_key()

    def pack(self) -> str:
        """The job as text, for Spark's options."""
        data = zlib.compress(pickle.dumps(self), 1)
        return b64encode(data).decode()

    def __getstate__(self) -> dict[str, Any]:
        # Derived values are computed again where the job arrives.
        return {each.name: getattr(self, each.name) for each in fields(self)}


def log_starts(place: str, streams: Mapping[str, Stream]) -> dict[str, Offset]:
    """Where the logs of these streams begin."""
    logs = LogDirectory(place)
    return {key: logs.log(stream).start for key, stream in streams.items()}


def partitions_of(session: Any) -> int:
    """The number of partitions of a session's shuffles."""
    return int(session.conf.get("spark.sql.shuffle.partitions") or 1)


def refuse_refresh(plan: physical.Node) -> None:
    """Refuse a continuous query over a table with REFRESH EVERY that is no standing query: it has a StreamingQuery of its
    own, which sees a table as it was when the query began. Standing queries are in a pipeline, and meet every version.
    """
    for table in physical.tables_of(plan).values():
        if table.refresh is not None:
            raise UnsupportedError(
                f"'{table.name}' is declared with REFRESH EVERY, and on Spark only standing queries read tables again",
                detail="this query would always see the table as it is now",
                hint="create it (CREATE QUERY name AS ...), run it on the gateway,"
                " or declare the table without REFRESH EVERY",
            )


def digest_of(text: str) -> str:
    """The name of a packed job in a worker's memory."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


_JOBS: OrderedDict[str, Job] = OrderedDict()
_REMEMBERED = 64


def job_of(text: str) -> Job:
    """The job packed in this text; one object for all micro-batches of this process."""
    digest = digest_of(text)
    job = _JOBS.get(digest)
    if job is None:
        job = _JOBS[digest] = pickle.loads(zlib.decompress(b64decode(text)))
        if len(_JOBS) > _REMEMBERED:
            _JOBS.popitem(last=False)
    else:
        _JOBS.move_to_end(digest)
    return job
