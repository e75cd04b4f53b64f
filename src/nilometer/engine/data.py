"""The sources of a query's readings: the files of a data directory, and readings appended in memory.

A stream's log is here a sequence of entries, in log order: frames of readings and heartbeats, from a file or
from the durable stream log, followed by what was appended. Every host reads the same entries. The readings of
a file are sorted by time, unless its own order shall count as the order of arrival (`log_order`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from nilometer.catalog import Catalog, Sensor, Stream, Table
from nilometer.errors import DataError, UnsupportedError
from nilometer.settings_file import logs_setting
from nilometer.types import MICROSECOND, Column, Kind

if TYPE_CHECKING:
    import polars as pl

    from nilometer.dataflow import Entry
    from nilometer.ingest.readers import FileForm, FileSet
    from nilometer.plan.logical import Node
    from nilometer.plan.reference import Feed

SCHEMA_FILE = "schema.sql"
LOG_FOLDER = ".nilometer/log"
ENDINGS = tuple(
    f".{format_}{packed}"
    for format_ in ("csv", "tsv", "jsonl", "ndjson", "json", "parquet")
    for packed in ("", ".gz", ".zst")
)
"""The endings of data files, as in ingest.readers.files, which imports Polars."""


@dataclass
class Data:
    """All available readings, by the stream's lower-case name."""

    files: dict[str, FileSet] = field(default_factory=dict)
    appended: dict[str, list[Entry]] = field(default_factory=dict)
    base: Path | None = None
    attached: bool = True
    """Whether the files of the directory are attached. They are so after schema.sql was read."""
    fetched_from: str | None = None
    """The URL of which `base` has a copy: nothing that is written there would last."""
    _read: dict[str, list[Entry]] = field(default_factory=dict)
    _once: dict[str, tuple[list[Entry], list[Entry]]] = field(default_factory=dict)
    dead_letters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Remarks for the user about the files that were read."""
    forms: dict[str, FileForm] = field(default_factory=dict)
    """The form of files whose columns have other names than the stream's."""
    log_order: bool = False
    """Whether the order of the rows in a file is the order in which they arrived: then some may be late."""
    allow_gaps: bool = False
    """Whether a log is read although entries of it are missing; `notes` then says which."""
    _remarks: dict[str, str] = field(default_factory=dict)

    # ---- attaching ---------------------------------------------------------------------------------------------------

    def attach_directory(self, directory: Path, catalog: Catalog) -> None:
        """Attach the file of every stream in the directory, by name: `river.csv`, `River.jsonl` ...; or a
        directory `river` with several files."""
        self.base, self.attached = directory, True
        by_name: dict[str, list[Path]] = {}
        folders: dict[str, list[Path]] = {}
        for path in sorted(directory.iterdir()):
            if path.is_file():
                by_name.setdefault(path.name.lower(), []).append(path)
            elif path.is_dir() and _has_data(path):
                folders.setdefault(path.name.lower(), []).append(path)
        # A name that no query can say is written with underscores: my-readings.csv is my_readings.
        by_plain_name: dict[str, list[Path]] = {}
        for path in (path for paths in by_name.values() for path in paths):
            if path.name.lower().endswith(ENDINGS):
                plain = re.sub(r"\W", "_", path.name.split(".")[0]).lower()
                by_plain_name.setdefault(plain, []).append(path)
        missing: list[Stream] = []
        for stream in catalog.streams():
            found = [path for ending in ENDINGS for path in by_name.get(stream.name.lower() + ending, [])]
            found += folders.get(stream.name.lower(), [])
            found = found or by_plain_name.get(stream.name.lower(), [])
            if len(found) > 1 and stream.url is None:
                raise DataError(
                    f"{len(found)} files for '{stream.name}': {', '.join(path.name for path in found)}",
                    hint=f"choose one: move the other out of {directory.name or directory}/",
                )
            if found:
                self.attach_file(stream.name, found[0], catalog)
            elif stream.url is None:
                missing.append(stream)
        taken = {files.source.name for files in self.files.values()}
        taken |= {Path(t.url).name for t in catalog.tables()}
        spare = [
            path.name
            for paths in by_name.values()
            for path in paths
            if path.name not in taken and path.name.lower().endswith(ENDINGS)
        ]
        for stream in missing:
            self._remarks[stream.name.lower()] = (
                f"no file for {stream.name} in {directory.name or directory}/"
                f" (looked for {stream.name}.csv, {stream.name}.jsonl ...; found {', '.join(spare[:8]) or 'none'})"
            )

    def attach_file(self, name: str, path: str | Path, catalog: Catalog) -> None:
        """Make a file, or the files of a directory or pattern, the log of a stream. If `id` was not declared,
        the files decide whether ids are numbers or text."""
        from nilometer.ingest.readers import find_files, sniff_ids

        stream = catalog.stream(name)
        _refuse_units(stream)
        key = stream.name.lower()
        self._remarks.pop(key, None)
        files = find_files(path)
        for each in files.paths if not stream.id_declared else ():
            found, culprit = sniff_ids(each, stream)
            if found is None or found.kind is not Kind.STRING:
                continue
            if stream.id_type.kind is not Kind.STRING:
                catalog.replace_stream(with_id_type(stream, Kind.STRING))
            if culprit is not None:
                where = culprit if len(files.paths) == 1 else f"{culprit} of {files.label(each)}"
                self._remarks[key] = (
                    f"ids of {stream.name} are text, because of {where}; declare id INT to set such rows aside"
                )
            break
        self.files[key] = files
        self.forms.pop(key, None)
        self._read.clear()
        self._once.clear()

    def attach_described(self, stream: Stream, files: FileSet, form: FileForm) -> None:
        """Make files the log of a stream that was declared from them."""
        self.files[stream.name.lower()] = files
        self.forms[stream.name.lower()] = form
        self._read.clear()
        self._once.clear()

    def append(self, stream: Stream, rows: pl.DataFrame | Iterable[Mapping[str, Any]]) -> int:
        """Append readings to a stream's log in memory, and return how many could be read."""
        import polars as pl

        from nilometer.dataflow import Batch
        from nilometer.ingest.readers import read_frame

        _refuse_units(stream)
        if isinstance(rows, pl.DataFrame):
            reading = read_frame(rows, stream, small=self._began_small(stream))
        else:  # their times are microseconds by now
            reading = read_frame(frame_of(list(rows), stream), replace(stream, time_unit=MICROSECOND))
        self.appended.setdefault(stream.name.lower(), []).append(Batch(reading.rows, reading.garbled))
        if reading.dead_letters:
            self.dead_letters[stream.name.lower()] = tuple(map(str, reading.dead_letters))
        return reading.rows.height

    def _began_small(self, stream: Stream) -> bool:
        """Whether readings were appended whose times were numbers below 10^9."""
        from nilometer.dataflow import Batch
        from nilometer.dataflow.keys import column_of
        from nilometer.ingest.readers.epochs import SECONDS

        name = column_of(stream, "time")
        for entry in self.appended.get(stream.name.lower(), []):
            if isinstance(entry, Batch) and entry.rows.height:
                greatest = entry.rows.get_column(name).max()
                return isinstance(greatest, int) and 0 <= greatest < SECONDS
        return False

    def heartbeat(self, stream: Stream, tick: int) -> None:
        """Append a heartbeat."""
        from nilometer.dataflow import Heartbeat

        self.appended.setdefault(stream.name.lower(), []).append(Heartbeat(tick))

    # ---- reading -----------------------------------------------------------------------------------------------------

    def entries(self, stream: Stream, wanted: frozenset[str] | None = None) -> list[Entry]:
        """The log of a stream, without duplicates: its file or its durable log, then what was appended.
        `wanted` are the columns that a query needs, in lower case; those of a file that are not wanted may be
        left out."""
        if wanted is not None:
            wanted |= {name.lower() for name in stream.key}
        found = self.received(stream, wanted)
        key = stream.name.lower()
        if not (stream.key or stream.sensed) or not (key in self.files or key in self.appended):
            return found  # a log alone has no duplicates
        from nilometer.dataflow.keys import identity_of
        from nilometer.dataflow.sources import without_doubles

        place = f"{key}: {stream.key}, {stream.every}, {wanted and sorted(wanted)}"
        known = self._once.get(place)
        if known is None or len(known[0]) != len(found) or any(map(operator.is_not, known[0], found)):
            # The cache holds the entries it was made from, so that no others can take their place in memory.
            known = self._once[place] = (
                found,
                without_doubles(replace(stream, key=identity_of(stream)), found),
            )
            if not stream.key:
                self._note_doubles(stream, known[1])
        return known[1]

    def _note_doubles(self, stream: Stream, entries: list[Entry]) -> None:
        """Tell why readings of a sensed stream were removed, although it declares no KEY."""
        from nilometer.dataflow import Batch
        from nilometer.dataflow.keys import column_of

        batches = [entry for entry in entries if isinstance(entry, Batch)]
        count = sum(batch.duplicate for batch in batches)
        if not count:
            return
        name = column_of(stream, "id")
        nameless = all(batch.rows.get_column(name).null_count() == batch.rows.height for batch in batches)
        self._note(
            f"{count} reading{'' if count == 1 else 's'} of {stream.name} came after one of the same sensor and tick,"
            f" and {'is' if count == 1 else 'are'} not counted: a sensed stream has one reading for each"
            + ("; no id tells its sensors apart" if nameless else "")
        )

    def received(self, stream: Stream, wanted: frozenset[str] | None = None) -> list[Entry]:
        """The log of a stream, including the duplicates of its file and of what was appended."""
        key = stream.name.lower()
        appended = self.appended.get(key, [])
        files = self.files.get(key)
        found = appended if files is not None else self.logged(stream) + appended
        if key in self._remarks and (files is not None or not found):
            self._note(self._remarks[key])
        if files is None:
            return found
        if appended or key in self._read:
            wanted = None  # all batches have the same columns
        place = key if wanted is None else f"{key}: {', '.join(sorted(wanted))}"
        if place not in self._read:
            self._read[place] = self._from_files(stream, files, wanted)
        return self._read[place] + appended

    def _from_files(self, stream: Stream, files: FileSet, wanted: frozenset[str] | None) -> list[Entry]:
        """The readings of a stream's files, in log order."""
        from nilometer.dataflow import Batch
        from nilometer.dataflow.keys import column_of
        from nilometer.ingest.readers import TimeOrder
        from nilometer.ingest.readers import read as read_file

        key = stream.name.lower()
        order = TimeOrder(column_of(stream, "time"))
        frames: list[pl.DataFrame] = []
        letters: list[str] = []
        garbled = rows = 0
        for path in files.paths:
            label = files.label(path)
            reading = read_file(path, stream, wanted, self.forms.get(key), label)
            letters += [f"{label}, {letter}" for letter in reading.dead_letters]
            garbled += reading.garbled
            rows += reading.rows.height
            for note in reading.notes:
                self._note(note)
            if self.log_order:
                frames.append(reading.rows)
            else:
                order.add(reading.rows)
        self.dead_letters[key] = tuple(letters)
        frames = frames if self.log_order else order.finish()
        if order.displaced:
            self._note(
                f"{files.name} is not in the order of time: its readings were sorted"
                f" ({order.displaced} of {rows} came after a later one)"
            )
        return [Batch(frames[0], garbled), *map(Batch, frames[1:])]

    def logged(self, stream: Stream) -> list[Entry]:
        """The stream's durable log in this data directory, without duplicates. The frames share the memory of
        its files."""
        if self.base is None or not (self._logs_elsewhere or (self.base / LOG_FOLDER).is_dir()):
            return []
        from nilometer.catalog.answer_streams import is_answers
        from nilometer.log import LogDirectory
        from nilometer.log.segment import allow_gaps, refuse

        if is_answers(stream):
            return self._answers(stream)
        name = stream.name
        told = allow_gaps(lambda damage: self._note(f"the log of {name} has a gap: {damage.what}"))
        log = LogDirectory(self.base, on_damage=told if self.allow_gaps else refuse).log(stream)
        for loss in log.lost:
            self._note(f"the log of {name} has lost {loss}, by its records: {loss.why}")
        return list(log.entries())

    def _answers(self, stream: Stream) -> list[Entry]:
        """The answers that are kept of the standing query that the stream is."""
        from nilometer.catalog.answer_streams import audited
        from nilometer.dataflow import Batch
        from nilometer.live.answers_adapter import readings_of
        from nilometer.live.standing import result_logs
        from nilometer.live.verdicts import frame_of_verdicts, verdicts_of

        assert self.base is not None, "answers are kept in a data directory"
        decision = audited(stream)
        if decision is not None:
            records = [asdict(one) for one in verdicts_of(self.base, decision)]
            return [Batch(frame_of_verdicts(stream, records))] if records else []
        logs = result_logs(self.base, stream.name)
        return [Batch(readings_of(stream, rows)) for log in logs for rows in log.answers()]

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def at_hand(self) -> frozenset[str]:
        """The streams, in lower case, that have a file, appended readings or a log."""
        folder = None if self.base is None else self.base / LOG_FOLDER
        logged: Iterable[str] = ()
        if self._logs_elsewhere:
            from nilometer.log import LogDirectory

            assert self.base is not None
            logged = LogDirectory(self.base).streams()
        elif folder is not None and folder.is_dir():
            logged = (path.name for path in folder.iterdir())
        queries = None if self.base is None else self.base / ".nilometer" / "queries"
        answered = (
            (path.name for path in queries.iterdir()) if queries is not None and queries.is_dir() else ()
        )
        audits = None if self.base is None else self.base / ".nilometer" / "decisions"
        audited = (f"{one.name}_audit" for one in audits.iterdir()) if audits and audits.is_dir() else ()
        return frozenset((*self.files, *self.appended, *map(unquote, logged), *answered, *audited))

    @property
    def _logs_elsewhere(self) -> bool:
        """Whether nilometer.toml puts the directory's logs at another place."""
        return self.base is not None and logs_setting(self.base) is not None

    def has(self, stream: Stream) -> bool:
        """Whether the stream has a file or any appended readings."""
        return stream.name.lower() in self.files or stream.name.lower() in self.appended

    def table(self, table: Table, catalog: Catalog) -> pl.DataFrame:
        """The snapshot of a stored table."""
        if table.url == "catalog:sensors":
            return sensors_frame(catalog, table)
        from nilometer.ingest.readers import read_table

        return read_table(table, self.base)


def _refuse_units(stream: Stream) -> None:
    """Files are not read through the unit before a log; a log is."""
    through = stream.form.through
    if through is not None:
        raise DataError(
            f"the readings of '{stream.name}' come through the unit {through.name}, and a file or frame does not",
            hint="replay it: PUSHED FROM 'file://readings.csv' THROUGH ...; or read FROM UNIT, which keeps the readings",
        )


def _has_data(directory: Path) -> bool:
    """Whether a directory has data files, at any depth."""
    if directory.name.startswith((".", "_")):
        return False
    return any(path.name.lower().endswith(ENDINGS) for path in directory.rglob("*"))


def with_id_type(stream: Stream, kind: Kind) -> Stream:
    """The stream with ids of that kind."""
    from nilometer.types import Column, Type

    columns = tuple(
        Column(c.name, Type(kind), c.unit) if c.name.lower() == "id" else c for c in stream.columns
    )
    return replace(stream, columns=columns)


def frame_of(rows: Sequence[Mapping[str, Any]], stream: Stream) -> pl.DataFrame:
    """Python rows as a frame: datetimes become microseconds, points become structs; names match in any
    case."""
    from datetime import datetime

    import polars as pl

    from nilometer.types import parse_time

    known = {column.name.lower(): column for column in stream.columns}
    data: dict[str, list[Any]] = {column.name: [] for column in stream.columns}
    for number, row in enumerate(rows, start=1):
        found = {name.lower(): value for name, value in row.items()}
        stray = [name for name in row if name.lower() not in known]
        if stray:
            raise DataError(
                f"reading {number} has a column '{stray[0]}' that '{stream.name}' does not declare",
                hint=f"its columns are {', '.join(data)}",
            )
        for lower, column in known.items():
            value = found.get(lower)
            if column.type.kind is Kind.TIME:
                if isinstance(value, datetime):
                    value = parse_time(value.isoformat())
                elif isinstance(value, str):
                    try:
                        value = parse_time(value)
                    except ValueError:
                        raise DataError(
                            f"reading {number}: {column.name} is '{value}', which is not a time",
                            hint="write it as ISO-8601: '2026-01-31T12:00:00Z'",
                        ) from None
                elif value is not None and lower == "time" and stream.time_unit is not None:
                    value = round(value * stream.time_unit)
            elif column.type.kind is Kind.POINT and isinstance(value, tuple | list):
                value = {"x": float(value[0]), "y": float(value[1])}
            data[column.name].append(value)
    frame = pl.DataFrame([_series(column, data[column.name]) for column in stream.columns])
    return frame.with_columns(
        pl.col(c.name).fill_nan(None) for c in stream.columns if c.type.kind is Kind.FLOAT
    )


def _series(column: Column, values: list[Any]) -> pl.Series:
    """The values of a column of Python rows. An error names the first value that does not fit."""
    import polars as pl

    from nilometer.operators.frames import dtype

    misfit = (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError)
    try:
        return pl.Series(column.name, values, dtype=dtype(column.type), strict=True)
    except misfit:
        for number, value in enumerate(values, start=1):
            try:
                pl.Series(column.name, [value], dtype=dtype(column.type), strict=True)
            except misfit:
                wanted = column.type.plain
                raise DataError(
                    f"reading {number}: {column.name} is {value!r}, not {'an' if wanted.kind is Kind.INT else 'a'} {wanted}",
                    hint="convert it, or declare the column with another type",
                ) from None
        raise


def sensors_frame(catalog: Catalog, table: Table) -> pl.DataFrame:
    """The `sensors` relation as a frame."""
    import polars as pl

    from nilometer.operators.frames import dtype

    rows = catalog.sensor_rows()
    columns = {}
    for column in table.columns:
        values = [row.get(column.name) for row in rows]
        if column.type.kind is Kind.POINT:
            values = [None if v is None else {"x": v[0], "y": v[1]} for v in values]
        elif column.type.kind is Kind.STRING:
            values = [None if v is None else str(v) for v in values]
        columns[column.name] = pl.Series(column.name, values, dtype=dtype(column.type), strict=False)
    return pl.DataFrame(columns)


def feed_of(data: Data, stream: Stream) -> Feed:
    """The same log for the reference evaluator: Python rows, with duplicates removed one by one."""
    from nilometer.dataflow import Heartbeat, Summaries
    from nilometer.plan.reference import Feed

    items: list[Any] = []
    identity = stream.key or (("id", "tick") if stream.sensed else ())
    seen: set[tuple[Any, ...]] = set()
    names = {column.name.lower(): column.name for column in stream.columns}
    points = [column.name for column in stream.columns if column.type.kind is Kind.POINT]
    for entry in data.received(stream):
        if isinstance(entry, Heartbeat):
            items.append(entry.tick)
            continue
        if isinstance(entry, Summaries):
            raise UnsupportedError(
                f"the reference evaluator reads readings, and sensors have summarised some of {stream.name}",
                hint="ask the gateway",
            )
        for row in entry.rows.iter_rows(named=True):
            time = row[names["time"]]
            if time is None:
                continue
            tick = time if stream.every is None else time // stream.every * stream.every
            if identity:
                key = tuple(tick if name.lower() == "tick" else row[names[name.lower()]] for name in identity)
                if key in seen:
                    continue
                seen.add(key)
            for name in points:
                if row[name] is not None:
                    row[name] = (row[name]["x"], row[name]["y"])
            items.append(row)
    return Feed(tuple(items))


def tables_of(plan: Node, data: Data, catalog: Catalog) -> dict[str, list[dict[str, Any]]]:
    """The stored tables that a plan reads, for the reference evaluator, by their lower-case names."""
    from nilometer.plan import logical

    stored = [node.table for node in logical.walk_plan(plan) if isinstance(node, logical.Stored)]
    return {table.name.lower(): _table_rows(data.table(table, catalog)) for table in stored}


def _table_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    rows = frame.rows(named=True)
    for row in rows:
        for name, value in row.items():
            if isinstance(value, dict) and set(value) == {"x", "y"}:
                row[name] = (value["x"], value["y"])
    return rows


def sensors_by_stream(catalog: Catalog) -> dict[str, tuple[Sensor, ...]]:
    """The declared sensors, by the stream's lower-case name."""
    return {stream.name.lower(): catalog.sensors(stream.name) for stream in catalog.streams()}
