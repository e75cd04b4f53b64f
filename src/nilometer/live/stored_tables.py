"""The versions of the tables that live queries join: which version holds at each tick, also after a crash or
in a replay.

    installed ─► first version ─► log ─► query         the wall clock decides when a table is refreshed
    (REFRESH EVERY)
    refreshed ─► changed?      ─► log ─► query         event time decides from when a version holds: after all
    answered ticks

A version in the log is not read from the table again. A query that goes on, or is replayed, meets the
recorded versions at the recorded ticks; tables are refreshed only after the last recorded version. A table
without REFRESH EVERY has one version for each version of the query. Queries that are not durable have no log
of versions, and cannot be replayed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import polars as pl

from nilometer.catalog import Sensor, Stream, Table
from nilometer.dataflow import TableVersion
from nilometer.errors import NilometerError, ResourceError
from nilometer.live.background_read import BackgroundRead, Read, Reading
from nilometer.live.table_log import TableLog, Version
from nilometer.log import failpoints
from nilometer.log.failpoints import Failpoint
from nilometer.log.local_files import LocalFiles
from nilometer.operators.frames import conform, dtypes, to_bytes
from nilometer.types import INT_MINIMUM, MINUTE, SECOND, Schema

FOLDER = "tables"


@dataclass
class _Stored:
    """A table while queries read it: its newest version, and the state of its refresh."""

    table: Table
    log: TableLog | None
    newest: pl.DataFrame | None
    due: int
    reading: Reading | None = None
    failures: int = 0
    trouble: str | None = None


@dataclass(frozen=True)
class Kept:
    """Where the versions of a standing query's tables are kept, and for which version of the query."""

    folder: Path
    query: str
    failpoint: Failpoint | None = None
    same: Callable[[str], bool] | None = None
    """Whether the query takes over what another version of it met; None: only its own."""

    def log(self, table: Table) -> TableLog:
        """The log of a table with its present columns; with other columns it is another table."""
        columns = dtypes(Schema(table.columns))
        shape = blake2b(repr(sorted(columns.items())).encode(), digest_size=4).hexdigest()
        pass_by = self.failpoint or failpoints.from_environment("tables")
        name = f"{quote(table.name.lower(), safe='')}-{shape}"
        return TableLog(LocalFiles(self.folder / FOLDER / name, pass_by), columns)


@dataclass
class StoredTables:
    """The tables of queries with the same start. `read` returns the present rows of a table.

    `restored`: the queries go on with a state; the versions it was computed from are recorded, unless an
    older program wrote it that recorded none. `reads` and `failures` count the refreshes and those that
    failed.
    """

    tables: Mapping[str, Table]
    read: Callable[[Table], pl.DataFrame]
    now: int
    kept: Kept | None = None
    begin: Callable[[Read], Reading] = BackgroundRead
    restored: bool = False
    reads: int = 0
    failures: int = 0
    _stored: dict[str, _Stored] = field(default_factory=dict)
    _first: dict[str, pl.DataFrame] = field(default_factory=dict)
    _held_from: int = INT_MINIMUM
    _answered_before: bool = False

    def __post_init__(self) -> None:
        recorded: list[Iterator[TableVersion]] = []
        try:
            for name, table in self.tables.items():
                recorded.append(self._open(name, table))
        except BaseException:
            self.close()
            raise
        self._recorded: Iterator[TableVersion] = heapq.merge(
            *recorded, key=lambda version: version.holds_from
        )
        self._next = next(self._recorded, None)

    def _open(self, name: str, table: Table) -> Iterator[TableVersion]:
        """Open the table's first version, recorded or read now. Returns the later recorded versions."""
        log = None if self.kept is None else self.kept.log(table)
        try:
            return self._begin(name, table, log)
        except BaseException:
            if log is not None:
                log.abandon()
            raise

    def _begin(self, name: str, table: Table, log: TableLog | None) -> Iterator[TableVersion]:
        first = None if log is None else self._recorded_first(log, table)
        met_before = first is not None or self.restored
        self._answered_before |= met_before
        # A version read by an earlier process is refreshed as soon as possible.
        due = self.now if met_before else self.now + (table.refresh or 0)
        unknown = first is None and self.restored
        if first is None:
            first = Version(self._read(table), None, self.now, "" if self.kept is None else self.kept.query)
            if log is not None:
                log.append(first)
        self._first[name] = first.rows
        self._stored[name] = _Stored(table, log, None if unknown else first.rows, due)
        return iter(()) if log is None or table.refresh is None else _later(name, log)

    def _read(self, table: Table) -> pl.DataFrame:
        """The present rows, in the form in which a log returns them."""
        return conform(self.read(table), dtypes(Schema(table.columns)))

    def _recorded_first(self, log: TableLog, table: Table) -> Version | None:
        if table.refresh is not None:
            return next(log.versions(), None)
        assert self.kept is not None
        same = self.kept.same or (lambda found: self.kept is not None and found == self.kept.query)
        return next((each for each in log.versions() if same(each.query)), None)

    @cached_property
    def key(self) -> tuple[tuple[str, bytes], ...]:
        """Equal for tables of the same names and columns whose first versions have the same rows."""
        return tuple((name, _content(self._first[name])) for name in sorted(self.tables))

    def settle(self) -> None:
        """The versions are final, and on record: let go of their logs."""
        assert all(table.refresh is None for table in self.tables.values()), "a table that is refreshed"
        self.close()
        for stored in self._stored.values():
            stored.log = None

    # ---- what the queries meet -----------------------------------------------------------------------------------------

    def first(self, table: Table) -> pl.DataFrame:
        """The version that holds for all ticks before the next version. Opens a table that none of the
        queries had.
        """
        name = table.name.lower()
        if name not in self._first:
            assert self.kept is None, "a standing query's tables are known"
            self._open(name, table)
        return self._first[name]

    @property
    def replaying(self) -> bool:
        """Whether there are recorded versions still to come."""
        return self._next is not None

    def recorded(self, tick: int) -> Iterator[TableVersion]:
        """The next recorded versions that hold from this tick or an earlier one on."""
        while self._next is not None and self._next.holds_from <= tick:
            yield self._given(self._next)
            self._next = next(self._recorded, None)

    def all_recorded(self, after: int = INT_MINIMUM) -> list[TableVersion]:
        """The recorded versions after the first ones that hold from a later tick than this on, for a host that hands them out
        itself."""
        self._recorded, self._next = iter(()), None
        logs = [
            (name, stored.log)
            for name, stored in self._stored.items()
            if stored.log is not None and stored.table.refresh is not None
        ]
        later = [_later(name, log) for name, log in logs]
        found = []
        for version in heapq.merge(*later, key=lambda version: version.holds_from):
            if self._given(version).holds_from > after:
                found.append(version)
        return found

    def due(self, now: int) -> bool:
        """Whether `refreshed` has anything to do."""
        return self._next is None and any(
            stored.reading is not None or now >= stored.due or stored.due > now + stored.table.refresh
            for stored in self._stored.values()
            if stored.table.refresh is not None
        )

    def refreshed(self, frontier: int | None, now: int) -> Iterator[TableVersion]:
        """The refreshed tables that have changed. Each is recorded, and holds from after `frontier` on.
        Begins the reads that are due.

        `frontier` is the greatest tick answered for; None: this process has not answered for any tick.
        """
        if self._next is not None:
            return  # recorded versions come first
        for name, stored in self._stored.items():
            outcome = self._changed(stored, now)
            version = None if outcome is None else self._version(name, stored, outcome, frontier, now)
            if version is not None:
                yield version

    def changed(self, now: int) -> bool:
        """Begin the reads that are due. Returns whether one has found another version, which `refreshed` would give."""
        if self._next is not None:
            return False
        found = [self._changed(stored, now) for stored in self._stored.values()]
        return any(rows is not None for rows in found)

    def _changed(self, stored: _Stored, now: int) -> pl.DataFrame | None:
        """Begin a read that is due. Returns the rows that a read has found, if they are not those of the last version."""
        every = stored.table.refresh
        if every is None:
            return None
        # If the clock was set back, the next read is still at most one interval away.
        stored.due = min(stored.due, now + every)
        if stored.reading is None and now >= stored.due:
            stored.reading = self.begin(lambda: self._read(stored.table))
            stored.due = now + every
        outcome = None if stored.reading is None else stored.reading.outcome
        if isinstance(outcome, NilometerError):
            stored.reading = None
            self._failed(stored, outcome, now)
            return None
        if outcome is not None and stored.newest is not None and outcome.equals(stored.newest):
            self._settled(stored)
            return None
        return outcome

    def _version(
        self, name: str, stored: _Stored, outcome: pl.DataFrame, frontier: int | None, now: int
    ) -> TableVersion | None:
        if frontier is None and self._answered_before:
            return None  # how far an earlier process has answered is known once something has been read
        holds_from = max(INT_MINIMUM if frontier is None else frontier, self._held_from) + 1
        if stored.log is not None:
            assert self.kept is not None
            try:
                stored.log.append(Version(outcome, holds_from, now, self.kept.query))
            except ResourceError as error:
                stored.reading = None
                self._failed(stored, error, now)
                return None
        self._settled(stored)
        stored.newest = outcome
        return self._given(TableVersion(holds_from, {name: outcome}))

    def _given(self, version: TableVersion) -> TableVersion:
        self._held_from = version.holds_from
        for name, rows in version.tables.items():
            self._stored[name].newest = rows
        return version

    def _settled(self, stored: _Stored) -> None:
        self.reads += 1
        stored.reading, stored.trouble, stored.failures = None, None, 0

    def _failed(self, stored: _Stored, error: NilometerError, now: int) -> None:
        """Keep the last version, and retry after a longer wait each time."""
        self.failures += 1
        stored.failures += 1
        stored.due = now + min(SECOND << min(stored.failures, 10), MINUTE, stored.table.refresh or MINUTE)
        stored.trouble = (
            f"'{stored.table.name}' could not be refreshed, its last version stays in use: {error.message}"
        )

    @property
    def trouble(self) -> str | None:
        """The error that keeps tables from being refreshed; the refresh is retried."""
        return next((stored.trouble for stored in self._stored.values() if stored.trouble), None)

    # ---- the end ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release the tables to other processes."""
        for stored in self._stored.values():
            if stored.log is not None:
                stored.log.close()

    def abandon(self) -> None:
        """Let go as a crash of the process would."""
        for stored in self._stored.values():
            if stored.log is not None:
                stored.log.abandon()


@dataclass(frozen=True)
class GroupExtents:
    """The tables and sensors for the dataflow of queries that share their tables."""

    tables: StoredTables
    declared: Callable[[Stream], Sequence[Sensor]]

    def table(self, table: Table) -> pl.DataFrame:
        """The first version of a stored extent."""
        return self.tables.first(table)

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.declared(stream)


def _content(rows: pl.DataFrame) -> bytes:
    """A hash of a table's columns and rows."""
    return blake2b(to_bytes(rows.rechunk()), digest_size=16).digest()


def _later(name: str, log: TableLog) -> Iterator[TableVersion]:
    """The versions after the first. `holds_from` increases from one to the next, over all tables of the
    query.
    """
    for version in islice(log.versions(), 1, None):
        assert version.holds_from is not None, "a later version holds from a tick on"
        yield TableVersion(version.holds_from, {name: version.rows})
