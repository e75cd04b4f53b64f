"""The durable side of the standing queries that run on the gateway: one commit for all of them, one checkpoint.

    rounds ─► commit (log/results/shared_log.py): the answers of every query, the offsets of every group
           ─► every ten seconds a checkpoint (state_files.py): the state of every query, shared parts once

The laws: a commit or a checkpoint costs the same number of fsyncs and files whatever the number of queries. After
a crash the commit log is ahead of the checkpoint or equal to it; a query reads what lies between again, and its
answers on the way are discarded. Queries that join a table which is refreshed keep a log of their own (standing.py), because
they keep the versions of the table there as well.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import polars as pl

from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Rows
from nilometer.errors import DataError, ResourceError
from nilometer.live.aside import settle_all
from nilometer.live.checkpoints import Checkpoints, Panes
from nilometer.live.control import folder_of, has_folder
from nilometer.live.declarations import CompiledQuery
from nilometer.live.recovery import Before, Recovered, recover
from nilometer.live.standing import (
    CHECKPOINT_EVERY,
    COMMIT_EVERY,
    Trimmed,
    note_of,
    private_logs,
    reader_of,
    trimmed_of,
)
from nilometer.live.state_files import SavedState, StateFiles
from nilometer.live.versions import Version, layout_of, version_of
from nilometer.log import LogDirectory, Offset, StreamLog
from nilometer.log.failpoints import Failpoint
from nilometer.log.local_files import LocalFiles
from nilometer.log.readers import store_offset
from nilometer.log.results import types_of
from nilometer.log.results.eras import Era, changes, following
from nilometer.log.results.numbers import first_number
from nilometer.log.results.result_log import Offsets
from nilometer.log.results.shared_log import GONE, LEFT, ColumnEra, Line, RecordPlace, SharedLog
from nilometer.log.writer import BusyError
from nilometer.operators.frames import dtypes

READER = "queries"
"""The reader by which all these queries keep retention from deleting what they still need."""


@dataclass
class SharedQuery:
    """One running query. `recovered` says where it goes on; None: it begins where it is told to. `layout` is the
    identity of its physical plan, `changed` what has changed in the declarations of its streams."""

    name: str
    version: str
    place: RecordPlace
    recovered: Recovered | None
    begins: bool
    rebuilds: bool = False
    held: Offsets = field(default_factory=dict)
    takes_state: bool = False
    """Whether it is a new version that keeps or rebuilds a state, which is in the older versions' books: also if it was
    stopped meanwhile."""
    layout: str = ""
    changed: str = ""
    stopped: bool = False
    """Whether an error has stopped it."""
    displaced: Line | None = None
    """The record about the query that was due before it joined."""

    @property
    def key(self) -> str:
        """The name in the commit log."""
        return self.place.name

    @property
    def rows(self) -> int:
        """The number of rows ever answered, by all versions."""
        return self.place.rows

    @property
    def earlier(self) -> QueryLedger:
        """The counters of all versions before this one."""
        return self.place.earlier

    def take_state(self, found: Recovered) -> None:
        """A new version goes on with the state that was found for it (replaced_state.py)."""
        self.recovered, self.takes_state = found, True

    def forget_state(self) -> None:
        """The state is of another release: it is made again by reading the logs since this version began."""
        assert self.recovered is not None, "a state that was not there"
        self.recovered = replace(self.recovered, panes={}, start=self.place.began)
        self.rebuilds = True

    def note(self) -> str | None:
        """A message about where the query goes on; None if it begins."""
        return note_of(
            self.name, self.version, self.recovered, self.rows, rebuilds=self.rebuilds, changed=self.changed
        )

    def find_trimmed(self, logs: Mapping[str, StreamLog]) -> Trimmed:
        """The rows that the query still needs and that the logs have lost."""
        return trimmed_of(self.recovered, logs)


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _exclusive(
    method: Callable[Concatenate[SharedCommits, _P], _R],
) -> Callable[Concatenate[SharedCommits, _P], _R]:
    """One thread at a time: Spark commits its pipelines' rounds in a thread of its own."""

    @wraps(method)
    def alone(self: SharedCommits, /, *arguments: _P.args, **named: _P.kwargs) -> _R:
        with self.lock:
            return method(self, *arguments, **named)

    return alone


class SharedCommits:
    """The commit log and the saved states, for the one process that runs standing queries.

    `trouble` is what keeps it from committing; no query is given more to read until that has passed. Whoever calls several
    methods in a row that belong together holds `lock`.
    """

    def __init__(self, directory: Path, logs: LogDirectory, failpoint: Failpoint | None, now: int) -> None:
        self.lock = threading.RLock()
        self._directory = directory
        self._logs = logs
        try:
            self.log = SharedLog(directory, failpoint)
        except BusyError as error:
            raise BusyError(
                f"the standing queries of {directory} are being run: {error.message}",
                hint="stop that process first, or let it run this query too",
            ) from None
        try:
            self.states = StateFiles(directory, failpoint)
        except BaseException:
            self.log.abandon()
            raise
        self.queries: dict[str, SharedQuery] = {}
        self.trouble: str | None = None
        self._unsaved = False
        self._pending: dict[str, Line] = self._left_by_a_crash()
        self._committed: dict[int, dict[str, Offset]] = {}
        self._committed_at = self._saved_at = now
        self._held: dict[str, Offset] = {}

    def _left_by_a_crash(self) -> dict[str, Line]:
        """Nobody runs a query now. If a process was killed, the log still says that its queries run; the first commit
        sets that right for those that do not go on."""
        index = self.log.index
        found = [index.place(name) for name, place in list(index.places.items()) if place.group >= 0]
        return {place.name: Line(place, (), LEFT, None, about=True) for place in found if place is not None}

    # ---- queries come and go -----------------------------------------------------------------------------------------

    @_exclusive
    def open(self, name: str, query: CompiledQuery, *, on_spark: bool = False) -> SharedQuery:
        """Find where a query goes on. Nothing is written yet. While a commit waits for space, nobody joins: what is on record
        does not say yet how far a query has come."""
        if self.trouble is not None:
            self.retry()
        if self.trouble is not None:
            raise ResourceError(self.trouble, hint="make space, then install the query again")
        if has_folder(self._directory, name):
            runner = LocalFiles(folder_of(self._directory, name)).holder()
            if runner is not None:
                raise BusyError(f"'{name}' is being run by {runner}", hint="stop that one first")
            settle_all(self._directory, name)
        meaning, key = version_of(query, on_spark=on_spark), name.lower()
        version = meaning.name
        columns, types = dtypes(query.schema), types_of(query.schema)
        place = self.log.index.place(key)
        if place is not None and place.number < first_number(self._directory, name):
            place = None  # dropped or replayed since
        recovered: Recovered | None
        if place is None:
            place, recovered = self._from_private(name, meaning, columns)
        else:
            recovered = self._recover(place, meaning)
        changed = ""
        if recovered is None or recovered.fresh:
            place = replace(place, declared=(Era(meaning.declared),))
        else:
            last = recovered.last
            eras = following(last.eras, meaning.declared, last.offsets)
            changed = ", ".join(changes(eras)) if last.eras and eras != last.eras else ""
            place = replace(place, declared=eras)
        era = place.eras[-1] if place.eras else None
        if era is None or not era.fits(columns, types):
            place = replace(
                place, eras=(*place.eras, ColumnEra(place.rows, place.number + 1, columns, types))
            )
        else:
            newest = replace(era, columns=columns, types={**era.types, **types})
            place = replace(place, eras=(*place.eras[:-1], newest))
        begins = recovered is None or recovered.fresh
        if recovered is not None and recovered.fresh:
            last = recovered.last
            place = replace(place, version=version, earlier=last.earlier + last.ledger, ledger=QueryLedger())
        layout = layout_of(query.physical)
        takes_state = place.takes_state and not begins
        return SharedQuery(
            name, version, place, recovered, begins, takes_state=takes_state, layout=layout, changed=changed
        )

    @_exclusive
    def recovered(self, query: SharedQuery, meaning: Version, fits: Callable[[Panes], bool]) -> Recovered:
        """Where a query that runs would go on after a crash now. `fits` says whether a state is one of its host."""
        place = self.log.index.place(query.key)
        assert place is not None, "a query that has not joined"
        found = self._recover(place, meaning)
        if found.has_state_of(query.layout, fits):
            return found
        return replace(found, panes={}, start=place.began)

    def _recover(self, place: RecordPlace, meaning: Version) -> Recovered:
        last = place.commit
        if not meaning.same_plan(place.version):
            return Recovered({}, last.offsets, last.offsets, last, fresh=True)
        saved = self.states.load(place.name)
        if saved is not None and saved.number < first_number(self._directory, place.name):
            saved = (
                None  # of a query of this name that was dropped or replayed, perhaps under other declarations
            )
        same = saved is not None and meaning.same_plan(saved.version)
        if saved is not None and same and saved.number > place.number:
            # A commit is durable before its checkpoint is written.
            raise DataError(
                f"answers are lost: its checkpoint is of commit {saved.number},"
                f" and its result log ends with commit {place.number}",
                detail=self.log.files.place,
                hint="put the missing bytes of the commit log back; or move .nilometer/state aside: the query then"
                " answers again after its last commit; sinks that have the lost commits say so",
            )
        # A state of the same version and the same beginning is the state at its offsets, whoever computed it.
        if (
            saved is not None
            and same
            and saved.began == place.began
            and all(at <= last.offsets.get(key, at) for key, at in saved.offsets.items())
        ):
            return Recovered(saved.panes, saved.offsets, last.offsets, last, layout=saved.layout)
        return Recovered({}, place.began, last.offsets, last)

    def _from_private(
        self, name: str, meaning: Version, columns: Mapping[str, pl.DataType]
    ) -> tuple[RecordPlace, Recovered | None]:
        """A query that is not in the commit log: it is new, or has result logs of its own, and reads on from them."""
        alone = has_folder(self._directory, name)
        logs, version = private_logs(self._directory, name) if alone else [], meaning.name
        answered = next((log for log in reversed(logs) if log.last is not None), None)
        if answered is None or answered.last is None:
            number = first_number(self._directory, name) - 1
            return RecordPlace(name.lower(), version, number, 0, LEFT, {}), None
        last = answered.last
        kept = Checkpoints(LocalFiles(folder_of(self._directory, name) / "state"))
        recovered = recover(
            version, answered, kept, changed=not answered.fits(columns), same=meaning.same_plan
        )
        place = RecordPlace(
            name.lower(),
            version,
            last.number,
            sum(log.rows for log in logs),
            LEFT,
            last.offsets,
            last.ledger,
            last.earlier,
            last.trimmed,
            dict(recovered.start) if recovered is not None and last.began is None else last.began or {},
        )
        return place, recovered

    @_exclusive
    def join(self, query: SharedQuery, group: int, offsets: Mapping[str, Offset], trimmed: int) -> None:
        """The query goes on, or begins, at these offsets, in a group. The next commit records it, before the query
        reads anything."""
        place = query.place
        place.offsets = dict(offsets)
        place.trimmed += trimmed
        place.version = query.version
        place.takes_state = query.takes_state
        recovered = query.recovered
        start = recovered.start if recovered is not None else offsets
        if query.begins and not (recovered is not None and recovered.panes):
            place.began = {key: min(start.get(key, at), at) for key, at in offsets.items()}
        query.held = {key: min(start.get(key, at), at) for key, at in offsets.items()}
        query.displaced = self._pending.get(query.key)
        self._pending[query.key] = Line(place, (), group, place.ledger, about=True, begins=query.begins)
        self.queries[query.key] = query
        self._committed.setdefault(group, dict(offsets))
        if recovered is not None and recovered.fresh:
            self._hold(raise_only=True)
        else:
            self._hold_at_least(query.held)
        if recovered is not None:
            query.recovered = replace(recovered, panes={})  # whoever runs the query has its state

    @_exclusive
    def take_back(self, query: SharedQuery) -> None:
        """Undo `join`: the query could not be installed, and must not move on with the group."""
        if self.queries.get(query.key) is not query:
            return
        del self.queries[query.key]
        del self._pending[query.key]
        if query.displaced is not None:
            self._pending[query.key] = query.displaced

    @_exclusive
    def before(self, query: SharedQuery) -> Before | None:
        """The last saved state of the version before."""
        recovered, saved = query.recovered, self.states.load(query.place.name)
        if recovered is None or saved is None or saved.version != recovered.last.version:
            return None
        behind = all(at <= recovered.last.offsets.get(key, at) for key, at in saved.offsets.items())
        return Before(saved.panes, saved.offsets) if behind else None

    @_exclusive
    def discount(self, query: SharedQuery, again: QueryLedger) -> None:
        """The readings that the state was rebuilt from, or was kept with, are in the older versions' books already."""
        query.takes_state = query.place.takes_state = False
        counted = again.as_dict()
        rest = {name: count - counted[name] for name, count in query.place.earlier.as_dict().items()}
        query.place.earlier = QueryLedger(**rest)
        self._pending[query.key] = Line(query.place, (), None, again, about=True)

    @_exclusive
    def forget_private(self, query: SharedQuery) -> None:
        """The shared reader holds retention for this query from here on."""
        if query.recovered is None and not first_number(self._directory, query.name):
            return  # a new query has none
        for stream in self._logs.streams():
            log = self._logs.log(stream)
            if reader_of(query.name) in log.readers():
                log.forget_reader(reader_of(query.name))

    @_exclusive
    def leave(self, query: SharedQuery, ledger: QueryLedger, panes: Callable[[], Panes] | None) -> None:
        """The query stops. Its state is saved in a file of its own, unless a checkpoint of all has just been made."""
        self.commit({}, {}, 0, at_once=True)
        line = Line(query.place, (), LEFT, ledger, about=True)
        self._write({}, [line])
        if panes is not None and self.trouble is None:
            with contextlib.suppress(ResourceError):
                state = SavedState(
                    query.version,
                    query.place.began,
                    query.place.offsets,
                    query.place.number,
                    panes(),
                    query.layout,
                )
                self.states.save({query.key: state}, self.log.index.places)
        self.queries.pop(query.key, None)

    @_exclusive
    def fail(self, query: SharedQuery, offsets: Offsets) -> None:
        """An error stopped the query. It stays at its last commit, so that it meets the error again if it is
        started again unchanged."""
        query.stopped = True
        self._pending[query.key] = Line(query.place, (), LEFT, None, about=True, offsets=offsets)

    @_exclusive
    def move(self, query: SharedQuery, group: int) -> None:
        """The query goes on in another group, at the same offsets. One that an error has stopped stays at its last commit."""
        if not query.stopped:
            pending = self._pending.get(query.key, Line(query.place))
            self._pending[query.key] = pending._replace(group=group)

    @_exclusive
    def note_trimmed(self, query: SharedQuery, readings: int) -> None:
        """Readings were deleted from the logs before the query had read them. The next commit records it."""
        query.place.trimmed += readings
        pending = self._pending.get(query.key, Line(query.place, (), None, None))
        self._pending[query.key] = pending._replace(about=True)

    @_exclusive
    def set_apart(self, query: SharedQuery, group: int, offsets: Mapping[str, Offset]) -> None:
        """The query goes on in a group of its own, at the same offsets."""
        self._committed[group] = dict(offsets)
        self.move(query, group)

    # ---- commits -----------------------------------------------------------------------------------------------------

    @_exclusive
    def committed(self, group: int) -> Offsets:
        """The offsets up to which a group has committed its answers. They may wait for space; nothing is written before."""
        reached = self.log.reached(group)
        return self._committed.get(group, {}) if reached is None else reached

    @_exclusive
    def commit(
        self,
        groups: Mapping[int, Mapping[str, Offset]],
        answers: Mapping[str, tuple[Sequence[Rows], QueryLedger]],
        now: int,
        *,
        at_once: bool = False,
    ) -> bool:
        """Commit the answers, by the query's lower-case name, and how far every group has read. Returns whether
        everything is durable. A commit without answers waits for a second."""
        moved = {n: dict(at) for n, at in groups.items() if self._moves(n, at)}
        if not answers and not self._pending and not moved:
            return self.trouble is None
        if not answers and not self._pending and not at_once and abs(now - self._committed_at) < COMMIT_EVERY:
            return False
        lines = dict(self._pending)
        # A line that moves a query to a new group says nothing without the offsets of that group.
        for line in self._pending.values():
            if line.group is not None and line.group >= 0 and self.log.reached(line.group) is None:
                moved.setdefault(line.group, self._committed[line.group])
        for key, (frames, ledger) in answers.items():
            before = lines.get(key)
            if before is None:
                lines[key] = Line(self.queries[key].place, tuple(frames), None, ledger)
            elif before.group != LEFT:
                lines[key] = before._replace(frames=tuple(frames), ledger=ledger)
        self._pending = {}
        if self._write(moved, lines.values()):
            self._committed_at = now
        return self.trouble is None

    def _moves(self, group: int, at: Mapping[str, Offset]) -> bool:
        """Whether a group comes further than it has. It never goes back: it would answer again."""
        known = self.log.reached(group)
        return known is None or (known != at and all(at.get(name, was) >= was for name, was in known.items()))

    @_exclusive
    def cancel(self, query: SharedQuery) -> bool:
        """Take back a query that has just joined, if nothing of it was written."""
        if self.log.cancel(query.key):
            self.queries.pop(query.key, None)
            self._pending.pop(query.key, None)
            return True
        return False

    @_exclusive
    def begin(self, now: int) -> None:
        """Record the queries that have joined, before they read anything."""
        if self._pending:
            self.commit({}, {}, now, at_once=True)

    def _write(self, groups: Mapping[int, Offsets], lines: Iterable[Line]) -> bool:
        try:
            self.log.commit(groups, lines)
            self.trouble = None
        except ResourceError as error:
            self.trouble = error.message
        return self.trouble is None

    @_exclusive
    def retry(self) -> None:
        """Retry a commit that failed; `trouble` says whether it has passed. A checkpoint that failed is due again."""
        try:
            self.log.retry()
            self.trouble = None
            if self._unsaved:
                self._saved_at -= CHECKPOINT_EVERY
        except ResourceError as error:
            self.trouble = error.message

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    @_exclusive
    def due(self, now: int) -> bool:
        """Whether it is time for a checkpoint."""
        return bool(self.queries) and self.trouble is None and abs(now - self._saved_at) >= CHECKPOINT_EVERY

    @_exclusive
    def checkpoint(self, panes: Mapping[str, Panes], ledgers: Mapping[str, QueryLedger], now: int) -> None:
        """Save the state of all running queries, which have committed everything they read, and their books."""
        self._saved_at = now
        books = [
            Line(query.place, (), None, ledgers[key])
            for key, query in self.queries.items()
            if key in ledgers and ledgers[key] != query.place.ledger
        ]
        if (books and not self._write({}, books)) or self.trouble is not None:
            return
        states = {}
        for key, own in panes.items():
            query = self.queries[key]
            place = self.log.index.place(key)
            assert place is not None, "a query that has not joined"
            states[key] = SavedState(
                query.version, place.began, dict(place.offsets), place.number, own, query.layout
            )
        try:
            self.states.save(states, [*self.log.index.places])
        except ResourceError as error:
            self.trouble, self._unsaved = error.message, True
            return
        self._unsaved = False
        for key, state in states.items():
            self.queries[key].held = state.offsets
        # After the checkpoint, never before: a recovery reads from here on. Without space on the disk, retention
        # holds a little longer.
        with contextlib.suppress(ResourceError):
            self._hold(raise_only=True)

    def _hold(self, *, raise_only: bool) -> None:
        """Let retention keep what any query may still read: of those that run, and of those that stopped."""
        needed: dict[str, Offset] = {}
        offsets = [query.held for query in self.queries.values()]
        for key, place in list(self.log.index.places.items()):
            if key not in self.queries:
                if place.number < first_number(self._directory, key):
                    continue
                offsets.append(self.states.offsets(key) or place.offsets)
        for one in offsets:
            for stream, at in one.items():
                needed[stream] = min(needed.get(stream, at), at)
        for stream, at in needed.items():
            before = self._held.get(stream)
            if before != at and (raise_only or before is None or at < before):
                store_offset(self._logs.log(stream).files, READER, at)
                self._held[stream] = at
        if raise_only:
            for stream in self._logs.streams():
                if stream not in needed and READER in self._logs.log(stream).readers():
                    self._logs.log(stream).forget_reader(READER)
                    self._held.pop(stream, None)

    def _hold_at_least(self, offsets: Offsets) -> None:
        """Let retention keep what one more query may read."""
        for stream, at in offsets.items():
            before = self._held.get(stream)
            if before is None:
                self._hold(raise_only=False)
            elif at < before:
                store_offset(self._logs.log(stream).files, READER, at)
                self._held[stream] = at

    @_exclusive
    def release(self, name: str) -> None:
        """A query was dropped: retention waits for it no more."""
        self.forget(name)
        self._hold(raise_only=True)

    # ---- the end -----------------------------------------------------------------------------------------------------

    @_exclusive
    def forget(self, name: str) -> None:
        """Take a query out of the commit log: its answers are elsewhere now, or gone."""
        place = self.log.index.place(name)
        if place is not None:
            self._write({}, [Line(place, (), GONE)])

    @_exclusive
    def close(self, ledgers: Mapping[str, QueryLedger]) -> None:
        """All queries stop: one record, and the last checkpoint is theirs."""
        with contextlib.suppress(ResourceError):
            lines = [
                Line(query.place, (), LEFT, ledgers.get(key), about=True)
                for key, query in self.queries.items()
                if key in self.log.index.places
            ]
            if lines:
                self._write({}, lines)
        self.queries.clear()
        with contextlib.suppress(ResourceError):
            self.log.close()

    @_exclusive
    def abandon(self) -> None:
        """Let go as a crash of the process would."""
        self.log.abandon()
