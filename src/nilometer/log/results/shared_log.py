"""The commit log: one log for the answers of all standing queries of a data directory on the gateway.

    .nilometer/commits     one record a round: the rows of every query that answered, and every group's offsets

A record has one line for each query that has something to say. Queries whose answers have the same columns share
one Arrow blob; a line says which part of it is the query's. The note of the record says how far each group of
queries has read. So a round of any number of queries costs one write and one fsync. Now and then a record is full:
it has a line for every query, so that older segments are not needed to know where the queries are.

The laws: a record is written whole or not at all. A commit number is used once under a query's name.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from nilometer.algebra.identity_map import IdentityMap
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Part, Rows, frame_of
from nilometer.errors import DataError
from nilometer.log import LogSettings, Offset, StreamLog, failpoints
from nilometer.log.annex import annex_from_bytes
from nilometer.log.failpoints import Failpoint
from nilometer.log.formats import STAMP, check_format
from nilometer.log.local_files import LocalFiles
from nilometer.log.reader import Cursor
from nilometer.log.record import RecordKind
from nilometer.log.results.eras import Era
from nilometer.log.results.result_log import Commit, Offsets
from nilometer.log.schema import arrow_schema, check_change, dtypes_of, from_bytes
from nilometer.log.segment import SegmentId, look, segment_ids
from nilometer.operators.frames import to_bytes

PLACE = Path(".nilometer") / "commits"
SEGMENT_BYTES = 16 << 20
"""After half as many bytes, a record is full."""
DESCRIBED_BYTES = 2_048
"""It also waits for so many bytes for each query, so that full records stay a small part of the log."""
LEFT = -1
"""The group of a query that does not run."""
GONE = -2
"""The group of a query whose answers are not in this log any more."""

LEDGER = ("read", "delivered", "filtered", "late", "shed", "failed", "errors")
"""The last two are newer than the others: records of older releases have none."""
BOOKS = attrgetter(*LEDGER)
UNCHANGED = (None,) * len(LEDGER)
LINE: dict[str, pl.DataType] = {
    "query": pl.String(),
    "number": pl.Int64(),
    "first": pl.Int64(),
    "rows": pl.Int64(),
    "blob": pl.Int64(),
    "start": pl.Int64(),
    "data": pl.Binary(),
    "version": pl.String(),
    "group": pl.Int64(),
    **{name: pl.Int64() for name in LEDGER},
    "about": pl.String(),
}
"""A line of a record: the query, the number of its commit, the position of its first row and the number of rows;
the line that holds the blob, where in it the query's rows begin, and the version that answered; the query's group,
books and description where they changed (NULL: as before)."""

Dtypes = Mapping[str, pl.DataType]

FORMAT = 1
"""The format of a record's note."""


@dataclass(frozen=True)
class ColumnEra:
    """A run of commits whose columns keep their types: the query's result logs before there was one log for all.
    It begins at a position and at a commit number."""

    position: int
    number: int
    columns: Dtypes
    types: Mapping[str, Any]

    def fits(self, columns: Dtypes, types: Mapping[str, Any]) -> bool:
        """Whether rows of these columns can be read together with these."""
        try:
            check_change(arrow_schema(self.columns), arrow_schema(columns))
        except DataError:
            return False
        return all(self.types.get(name) == types.get(name) for name in self.columns if name in columns)


@dataclass
class RecordPlace:
    """The log's knowledge of one query. `rows` is the position after its last row, `offsets` are those of its
    group, or those at which it left. `declared` says how its streams were declared (eras.py). `takes_state`: the readings
    of its state are in `earlier`, and will be in its own books too when the state is made."""

    name: str
    version: str
    number: int
    rows: int
    group: int
    offsets: Offsets
    ledger: QueryLedger = field(default_factory=QueryLedger)
    earlier: QueryLedger = field(default_factory=QueryLedger)
    trimmed: int = 0
    began: Offsets = field(default_factory=dict)
    eras: tuple[ColumnEra, ...] = ()
    declared: tuple[Era, ...] = ()
    takes_state: bool = False

    @property
    def commit(self) -> Commit:
        """The place as a commit of a result log."""
        return Commit(
            self.version,
            self.number,
            self.offsets,
            self.ledger,
            self.earlier,
            self.trimmed,
            self.eras[-1].types,
            self.began,
            self.declared,
        )

    def about(self) -> str:
        """The description in a line."""
        return json.dumps(
            {
                "version": self.version,
                "offsets": _written(self.offsets),
                "earlier": self.earlier.as_dict(),
                "trimmed": self.trimmed,
                "began": _written(self.began),
                "eras": [
                    [era.position, era.number, _columns_to_text(era.columns), dict(era.types)]
                    for era in self.eras
                ],
                "declared": [era.note() for era in self.declared],
                **({"takes_state": True} if self.takes_state else {}),
            }
        )


class Index:
    """Where each query is, from the last full record on."""

    def __init__(self) -> None:
        self.places: dict[str, RecordPlace] = {}
        self.groups: dict[int, Offsets] = {}
        self.sequence = 0
        self.greatest_group = 0

    def add(self, rows: pl.DataFrame, note: Mapping[str, Any]) -> None:
        """Add a record. Refuses one of an unknown format."""
        check_format(note, FORMAT, "a record of the commit log")
        if note.get("full"):
            self.places = {}
        self.sequence = note["sequence"]
        self.greatest_group = max(self.greatest_group, note["greatest"])
        for number, offsets in note["groups"].items():
            self.groups[int(number)] = _read(offsets)
        for line in rows.select(pl.exclude("data")).iter_rows(named=True):
            self._add(line)

    def _add(self, line: dict[str, Any]) -> None:
        name = line["query"]
        if line["group"] == GONE:
            self.places.pop(name, None)
            return
        if line["about"] is not None:
            self.places[name] = _place(name, json.loads(line["about"]))
        place = self.places[name]
        place.number = line["number"]
        place.rows = line["first"] + line["rows"]
        if line["group"] is not None:
            place.group = line["group"]
        if line["read"] is not None:
            place.ledger = QueryLedger(*(line.get(name) or 0 for name in LEDGER))

    def place(self, name: str) -> RecordPlace | None:
        """Where a query is."""
        place = self.places.get(name.lower())
        if place is not None and place.group in self.groups:
            read = self.groups[place.group]
            place.offsets = {key: read.get(key, at) for key, at in place.offsets.items()}
        return place


def _place(name: str, said: Mapping[str, Any]) -> RecordPlace:
    return RecordPlace(
        name,
        said["version"],
        0,
        0,
        LEFT,
        _read(said["offsets"]),
        earlier=QueryLedger(**said["earlier"]),
        trimmed=said["trimmed"],
        began=_read(said["began"]),
        eras=tuple(
            ColumnEra(position, number, _columns_of_text(columns), types)
            for position, number, columns, types in said["eras"]
        ),
        declared=tuple(Era.of(era) for era in said.get("declared", ())),
        takes_state=said.get("takes_state", False),
    )


class Line(NamedTuple):
    """What one query adds to a record. None: nothing new. `begins`: the line is the first commit of a version.
    `offsets` are the query's, if they are not those of its group. A tuple: thousands are made in a round."""

    place: RecordPlace
    frames: tuple[Rows, ...] = ()
    group: int | None = None
    ledger: QueryLedger | None = None
    about: bool = False
    begins: bool = False
    offsets: Offsets | None = None


class SharedLog:
    """The one writer of the commit log. It keeps the index of what it wrote."""

    def __init__(self, directory: Path, failpoint: Failpoint | None = None) -> None:
        pass_by = failpoint or failpoints.from_environment("results")
        self.files = LocalFiles(directory / PLACE, pass_by)
        self._log = StreamLog(self.files, LINE, LogSettings(segment_bytes=SEGMENT_BYTES))
        _ = self._log.writer  # takes the lock, and cuts a torn tail off
        try:
            self.index = index_of_files(self.files)
        except BaseException:
            self._log.abandon()
            raise
        self._due: deque[tuple[dict[int, Offsets], list[Line]]] = deque()
        """The commits that are not durable yet, the eldest first."""
        self._record: tuple[pl.DataFrame, dict[str, Any], Callable[[], None]] | None = None
        """The record of the first of these, once it is made."""
        self._appended = False
        self._since_full = sys.maxsize if self.index.places else 0

    def begin_group(self) -> int:
        """A number for a group that no group ever had."""
        self.index.greatest_group += 1
        return self.index.greatest_group

    def reached(self, group: int) -> Offsets | None:
        """How far a group has come, durably or not. None: nothing was committed of it."""
        for groups, _ in reversed(self._due):
            if group in groups:
                return groups[group]
        return self.index.groups.get(group)

    def commit(self, groups: Mapping[int, Offsets], lines: Iterable[Line]) -> None:
        """Write one record, durably. If there is no space, it waits, and the next call writes it first."""
        self._due.append((dict(groups), list(lines)))
        self.retry()

    def _made(
        self, groups: dict[int, Offsets], lines: list[Line]
    ) -> tuple[pl.DataFrame, dict[str, Any], Callable[[], None]]:
        """A record: its frame, its note, and what is done when it is durable. All before it are in the index."""
        full = self._since_full >= max(SEGMENT_BYTES // 2, DESCRIBED_BYTES * len(self.index.places))
        if full:
            mentioned = {line.place.name for line in lines}
            others = [place for name, place in self.index.places.items() if name not in mentioned]
            for place in others:
                self.index.place(place.name)
            lines = [line._replace(about=True) for line in lines]
            lines += [Line(place, (), place.group, place.ledger, True) for place in others]
        lines = [self._whole(line) if line.about else line for line in lines]
        frame, change = _lines(lines, {**self.index.groups, **groups}, self.index.places)
        note = {
            STAMP: FORMAT,
            "sequence": self.index.sequence + 1,
            "greatest": self.index.greatest_group,
            "groups": {str(number): _written(offsets) for number, offsets in groups.items()},
        }
        if full:
            note["full"] = True
            live = {line.place.group if line.group is None else line.group for line in lines}
            kept = {n: at for n, at in self.index.groups.items() if n in live}
            note["groups"] = {str(n): _written(at) for n, at in {**kept, **groups}.items()}

        def done() -> None:
            self.index.sequence += 1
            self.index.groups.update(groups)
            change()
            self._since_full = 0 if full else self._since_full + int(frame.estimated_size())

        return frame, note, done

    def _whole(self, line: Line) -> Line:
        """A line with a description is read as the first of its query, so it must say the group and the books, too."""
        known = self.index.places.get(line.place.name)
        if known is None:
            return line
        group = known.group if line.group is None else line.group
        return line._replace(group=group, ledger=known.ledger if line.ledger is None else line.ledger)

    def retry(self) -> None:
        """Write what waits, in its order."""
        while self._due:
            if self._record is None:
                self._record, self._appended = self._made(*self._due[0]), False
            frame, note, done = self._record
            self._log.append(frame, producer="commits", sequence=note["sequence"], note=note)
            self._appended = True
            self._log.flush()
            self._record = None
            self._due.popleft()
            done()

    def cancel(self, name: str) -> bool:
        """Take back that a query has joined, if that waits. Returns False if the log has it, though perhaps not durably. What
        others have in the same commit goes on waiting."""
        for at in reversed(range(len(self._due))):
            groups, lines = self._due[at]
            own = [line.group for line in lines if line.place.name == name]
            group = next((group for group in own if group is not None and group >= 0), None)
            if group is None:
                continue  # it says something else about the query
            if at == 0:
                if self._appended:
                    return False
                self._record = None  # it is made again
            others = [line for line in lines if line.place.name != name]
            if group not in self.index.groups and all(line.group != group for line in others):
                groups = {number: offsets for number, offsets in groups.items() if number != group}
            if groups or others:
                self._due[at] = groups, others
            else:
                del self._due[at]
            return True
        return False

    def close(self) -> None:
        """Let another process write."""
        self._log.close()

    def abandon(self) -> None:
        """Let go as a crash of the process would."""
        self._log.abandon()


def _lines(
    lines: list[Line], groups: Mapping[int, Offsets], places: dict[str, RecordPlace]
) -> tuple[pl.DataFrame, Callable[[], None]]:
    """The frame of a record, and what changes in the index once it is durable."""
    blobs = _Blobs()
    numbers, heights, held, starts = [], [], [], []
    for number, line in enumerate(lines):
        place, frames = line.place, line.frames
        rows = sum(frame.height for frame in frames) if len(frames) != 1 else frames[0].height
        blob, start = blobs.add(number, frames) if rows else (None, 0)
        numbers.append(place.number + 1 if rows or line.begins else place.number)
        heights.append(rows)
        held.append(blob)
        starts.append(start)
        group = place.group if line.group is None or line.group < 0 else line.group
        at = line.offsets or groups.get(group)
        if at is not None and at is not place.offsets:
            same = at.keys() == place.offsets.keys()
            place.offsets = (
                at if same else {key: at.get(key, offset) for key, offset in place.offsets.items()}
            )
    data: list[bytes | None] = [None] * len(lines)
    for number, written in blobs.written():
        data[number] = written
    books = zip(*[UNCHANGED if line.ledger is None else BOOKS(line.ledger) for line in lines], strict=True)
    columns = {
        "query": [line.place.name for line in lines],
        "number": numbers,
        "first": [line.place.rows for line in lines],
        "rows": heights,
        "blob": held,
        "start": starts,
        "data": data,
        "version": [line.place.version if rows else None for line, rows in zip(lines, heights, strict=True)],
        "group": [line.group for line in lines],
        **(dict(zip(LEDGER, books, strict=True)) if lines else dict.fromkeys(LEDGER, ())),
        "about": [line.place.about() if line.about else None for line in lines],
    }

    def change() -> None:
        for line, number, rows in zip(lines, numbers, heights, strict=True):
            place = line.place
            if line.group == GONE:
                places.pop(place.name, None)
                continue
            places[place.name] = place
            place.number = number
            place.rows += rows
            if line.group is not None:
                place.group = line.group
            if line.ledger is not None:
                place.ledger = line.ledger

    return pl.DataFrame(columns, schema=LINE), change


class _Blobs:
    """The blobs of a record, one for each list of columns, held by the first line that has rows of it."""

    def __init__(self) -> None:
        self._frames: dict[tuple[Any, ...], tuple[int, list[pl.DataFrame], list[int]]] = {}
        self._shared = IdentityMap[pl.DataFrame, tuple[int, int]]()
        """Where a frame that several queries share begins: the blob, and the row in it."""

    def add(self, number: int, frames: tuple[Rows, ...]) -> tuple[int, int]:
        """The blob, and the row in it where these frames begin, one after the other."""
        first = frames[0]
        if len(frames) == 1 and isinstance(first, Part):
            where = self._shared.get(first.frame)
            if where is None:
                where = self._shared[first.frame] = self._append(number, [first.frame])
            return where[0], where[1] + first.start
        return self._append(number, [frame_of(frame) for frame in frames])

    def _append(self, number: int, frames: list[pl.DataFrame]) -> tuple[int, int]:
        key = (*frames[0].columns, *frames[0].dtypes)
        if key not in self._frames:
            self._frames[key] = number, [], [0]
        blob, parts, total = self._frames[key]
        start = total[0]
        parts.extend(frames)
        total[0] += sum(frame.height for frame in frames)
        return blob, start

    def written(self) -> Iterable[tuple[int, bytes]]:
        """The bytes of each blob, with the line that holds it."""
        for number, parts, _ in self._frames.values():
            yield number, to_bytes(parts[0] if len(parts) == 1 else pl.concat(parts))


# ---- reading ---------------------------------------------------------------------------------------------------------


def index_of_files(files: LocalFiles) -> Index:
    """The index of the present log."""
    return _Reader(files).index


class _Reader:
    """Reads on where it stopped."""

    def __init__(self, files: LocalFiles) -> None:
        self.index = Index()
        self._cursor = Cursor(files, _last_full(files))
        self.read()

    def read(self) -> Index:
        for entry in self._cursor:
            if entry.note is not None and entry.rows is not None:
                self.index.add(entry.rows, entry.note)
        return self.index


def _last_full(files: LocalFiles) -> Offset:
    """The offset of the last full record; the beginning if there is none."""
    for segment in reversed(segment_ids(files)):
        found = None
        for header, run in look(files, segment)[1]:
            if header.kind == RecordKind.ROWS and header.annex_bytes:
                note = annex_from_bytes(bytes(header.annex(run.buffer, run.base)))[1]
                if note is not None and note.get("full"):
                    found = Offset(header.number, header.position)
        if found is not None:
            return found
    return Offset()


def last_full_segment(files: LocalFiles) -> SegmentId | None:
    """The segment of the last full record: it and those after it are needed to know where the queries are."""
    at = _last_full(files)
    before = [segment for segment in segment_ids(files) if segment.number <= at.number]
    return before[-1] if before else None


_READERS: dict[tuple[str, int], _Reader] = {}
_TURN = threading.Lock()
"""Sinks read in threads of their own, and share the readers."""


def forget_indexes() -> None:
    """Forget what was read, as the end of a process does; for a simulation that outlives its processes."""
    _READERS.clear()


def index_at(directory: Path) -> Index:
    """The index of a directory's commit log, for those who only read. It reads each record once."""
    files = LocalFiles(directory / PLACE)
    try:
        key = str(files.directory.resolve()), files.directory.stat().st_ino
    except FileNotFoundError:
        return Index()
    with _TURN:
        found = _READERS.get(key)
        if found is None:
            if len(_READERS) > 16:
                _READERS.clear()
            found = _READERS[key] = _Reader(files)
            return found.index
        return found.read()


def _written(offsets: Offsets) -> dict[str, list[int]]:
    return {name: [at.number, at.position] for name, at in offsets.items()}


def _read(written: Mapping[str, Any]) -> dict[str, Offset]:
    return {name: Offset(number, position) for name, (number, position) in written.items()}


def _columns_to_text(columns: Dtypes) -> str:
    return _text_of_columns(tuple(columns.items()))


@lru_cache(maxsize=1024)
def _text_of_columns(listed: tuple[tuple[str, pl.DataType], ...]) -> str:
    """Kept, because most queries have the columns of others, and a full record describes them all."""
    columns = dict(listed)
    return base64.b64encode(arrow_schema(columns).serialize().to_pybytes()).decode()


def _columns_of_text(text: str) -> dict[str, pl.DataType]:
    import pyarrow as pa

    return dtypes_of(from_bytes(pa.py_buffer(base64.b64decode(text))))
