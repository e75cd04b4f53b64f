"""A query over logs that grow -> its rows, computed only for the readings that are new since it was last asked.

The law: `ask` gives what a run over all data at hand gives, the rows of the newest evaluations. Between two calls the
state is the snapshot of the run (dataflow/run.py), as if the streams still ran; a copy of it is run to the end, for the
evaluations that only the end of the data completes. So a call costs the new readings and the state, not the log.

    followed = FollowedQuery(database.sql("SELECT * FROM CURRENT(smoke)").physical, "time")
    followed.ask(database).rows
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog.answer_streams import is_answers
from nilometer.dataflow import BATCH_ROWS, Entry, Run
from nilometer.dataflow.keys import column_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.log import LogDirectory, Offset
from nilometer.plan import physical
from nilometer.plan.explain import explain_text

if TYPE_CHECKING:
    from nilometer.catalog import Sensor, Stream, Table
    from nilometer.engine.database import Database
    from nilometer.engine.query import Query

MOST_PARTS = 256
KEPT = 512
"""Evaluations whose rows are kept."""
_BEGINNING = json.dumps({"entries": 0, "rows": 0, "finished": False}).encode()


@dataclass(frozen=True)
class Asked:
    """The rows of the newest evaluations; and by `id`, the times of the `first` and the `last` reading."""

    rows: pl.DataFrame
    sent: pl.DataFrame

    @property
    def latest(self) -> int | None:
        """The time of the last reading; None if there is none."""
        found = self.sent.get_column("last").max()
        return found if isinstance(found, int) else None


def can_follow(query: Query) -> bool:
    """Whether all data of the query is in logs: a file is read whole, and may change anywhere."""
    data, streams = query.database.data, physical.streams_of(query.physical).values()
    tables = any(isinstance(node, physical.StoredScan) for node in physical.walk_plan(query.physical))
    return data.base is not None and not tables and not any(data.has(s) or is_answers(s) for s in streams)


def signature(query: Query) -> tuple[str, int]:
    """Another one if the query, its streams or their sensors are declared otherwise."""
    streams = physical.streams_of(query.physical).values()
    catalog = query.database.catalog
    declared = tuple((repr(stream), catalog.sensors(stream.name)) for stream in streams)
    return explain_text(query.physical), hash(repr(declared))


@dataclass
class FollowedQuery:
    """One query, asked by one thread at a time. `by` is the column with the time of the evaluation."""

    plan: physical.Node
    by: str
    _panes: dict[str, dict[str, bytes]] | None = None
    _offsets: dict[str, Offset] = field(default_factory=dict)
    _sent: pl.DataFrame | None = None
    _rows: pl.DataFrame | None = None

    def ask(self, database: Database) -> Asked:
        """The rows by now, from a database with the same declarations."""
        self._forget_trimmed(database)
        sources = _New(database, self.plan, dict(self._offsets))
        run = self._run(sources, finished=False)
        added = run.collect()
        panes = run.snapshot()
        kept = added if self._rows is None else pl.concat([self._rows, added])
        evaluations = kept.get_column(self.by).unique().top_k(KEPT)
        kept = kept.filter(pl.col(self.by).is_in(evaluations.implode()))
        self._sent = _merged([*([] if self._sent is None else [self._sent]), *sources.sent])
        self._panes, self._offsets, self._rows = panes, sources.offsets, kept
        rest = self._run(_New(database, self.plan, {}, over=True), finished=True).collect()
        return Asked(pl.concat([kept, rest]), self._sent)

    def _run(self, sources: _New, *, finished: bool) -> Run:
        run = Run(self.plan, sources, BATCH_ROWS, finished=finished)
        if self._panes is not None:
            # The sources begin where the snapshot ended.
            panes = {
                name: pane | ({"place": _BEGINNING} if name.startswith("inlet ") else {})
                for name, pane in self._panes.items()
            }
            run.restore(panes | {"run": panes["run"] | {"over": b"0"}})
        return run

    def _forget_trimmed(self, database: Database) -> None:
        """If readings were deleted that were not read yet, begin again with what is at hand."""
        logs = LogDirectory(database.data.base or "")
        for stream in physical.streams_of(self.plan).values():
            read = self._offsets.get(stream.name.lower())
            if read is not None and logs.log(stream).start.position > read.position:
                self._panes, self._offsets, self._rows, self._sent = None, {}, None, None


def _merged(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The first and the last time of each sensor, from parts that have some."""
    if not parts:
        return pl.DataFrame(schema={"id": pl.Null, "first": pl.Int64, "last": pl.Int64})
    return pl.concat(parts).group_by("id").agg(pl.col("first").min(), pl.col("last").max())


@dataclass
class _New:
    """What the logs have beyond some offsets; nothing if it is `over`."""

    database: Database
    plan: physical.Node
    offsets: dict[str, Offset]
    over: bool = False
    sent: list[pl.DataFrame] = field(default_factory=list)

    def entries(self, stream: Stream) -> Iterator[Entry]:
        """The entries that are new."""
        if self.over:
            return
        name = stream.name.lower()
        log = LogDirectory(self.database.data.base or "").log(stream)
        time, identifier = column_of(stream, "time"), column_of(stream, "id")
        for found in log.read(self.offsets.get(name, Offset())):
            self.offsets[name] = found.after
            if found.rows is not None and found.rows.height:
                times = pl.col(time).to_physical().alias("first"), pl.col(time).to_physical().alias("last")
                self.sent.append(found.rows.select(pl.col(identifier).alias("id"), *times))
                if len(self.sent) > MOST_PARTS:
                    self.sent = [_merged(self.sent)]
            yield found.entry()

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored table."""
        return DatabaseSources(self.database, self.plan).table(table)

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.database.catalog.sensors(stream.name)
