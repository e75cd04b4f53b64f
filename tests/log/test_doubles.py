"""Doubles by a KEY that was declared later, against a set of all keys: found, recorded, left out by every reader, killed anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from log.logs import CrashError, FailAt, no_space, scratch
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.dataflow.sources import Batch
from nilometer.errors import ResourceError
from nilometer.log import LogSettings, Offset, StreamLog
from nilometer.log import doubles as module
from nilometer.log.doubles import FILE, Doubles, find, key_of, record, recorded
from nilometer.log.local_files import LocalFiles
from nilometer.operators.frames import dtypes
from nilometer.types import FLOAT, INT, Column, Schema

PLAIN = Stream("river", stream_columns((Column("number", INT), Column("depth", FLOAT))))
KEYED = replace(PLAIN, key=("id", "time"))
Row = tuple[int | None, int | None, int | None, float | None]
"""Time, id, number, depth."""


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    names = ("time", "id", "number", "depth")
    schema = dtypes(Schema(PLAIN.columns))
    return pl.DataFrame(list(rows), schema={name: schema[name] for name in names}, orient="row").select(
        list(schema)
    )


def opened(folder: Path | str, stream: Stream, failpoint: Any = None) -> StreamLog:
    files = LocalFiles(folder) if failpoint is None else LocalFiles(folder, failpoint)
    return StreamLog(files, stream, LogSettings(segment_bytes=1_500), clock=lambda: 0.0)


def written(folder: Path | str, batches: Sequence[Sequence[Row]]) -> None:
    with opened(folder, PLAIN) as log:
        for batch in batches:
            log.append(frame(batch))


def key(stream: Stream, row: Row) -> tuple[Any, ...]:
    time, source, number, depth = row
    assert time is not None
    every = stream.every or 1
    parts = {"time": time, "id": source, "number": number, "depth": depth, "tick": time // every}
    return tuple(parts[name.lower()] for name in stream.key)


def naive(stream: Stream, rows: Sequence[Row]) -> list[int]:
    """The positions of the doubles, by a set of all keys."""
    seen: set[tuple[Any, ...]] = set()
    found = []
    for position, row in enumerate(rows):
        if row[0] is None or not stream.key:
            continue
        if key(stream, row) in seen:
            found.append(position)
        seen.add(key(stream, row))
    return found


small = st.one_of(st.none(), st.integers(0, 3))
rows = st.tuples(
    st.one_of(st.none(), st.integers(-30, 90)), small, small, st.sampled_from([None, 0.0, -0.0, 1.5])
)
batches = st.lists(st.lists(rows, min_size=1, max_size=12), max_size=12)
streams = st.builds(
    lambda key, every: replace(PLAIN, key=key, every=every),
    st.sampled_from([("id", "time"), ("time",), ("id", "tick"), ("id", "number"), ("depth",), ("Number",)]),
    st.sampled_from([None, 7]),
)


@given(streams, batches, st.sampled_from([1, 3, 10, 1_000]))
def test_found_however_few_keys_are_compared_at_a_time(
    stream: Stream, batches: list[list[Row]], part: int
) -> None:
    with scratch() as folder:
        written(folder, batches)
        log = opened(folder, stream)
        whole = [row for batch in batches for row in batch]
        expected = naive(stream, whole)
        assert find(log, stream, part).positions.tolist() == expected
        readings = [row for position, row in enumerate(whole) if position not in expected]
        entries = [entry for entry in log.entries() if isinstance(entry, Batch)]
        found = pl.concat([entry.rows for entry in entries] or [frame([])])
        assert found.equals(frame(readings))
        assert sum(entry.duplicate for entry in entries) == len(expected)


@given(streams, streams, batches, st.integers(0, 40), st.integers(0, 12))
def test_a_reader_may_begin_anywhere_and_another_key_may_be_declared(
    first: Stream, second: Stream, batches: list[list[Row]], start: int, limit: int
) -> None:
    whole = [row for batch in batches for row in batch]
    with scratch() as folder:
        written(folder, batches)
        for stream in (first, second, PLAIN, second):
            with opened(folder, stream) as log:
                log.keep_key()
                assert (recorded(log.files) or Doubles()).key == key_of(stream)
            log = opened(folder, stream)
            expected = naive(stream, whole)
            cursor = log.cursor(Offset(*_offset(batches, start)))
            found: list[pl.DataFrame] = []
            while entries := cursor.read(limit + 1):
                found += [e.rows for e in (entry.entry() for entry in entries) if isinstance(e, Batch)]
            left = [row for at, row in enumerate(whole) if at >= start and at not in expected]
            assert pl.concat([*found, frame([])]).equals(frame(left))


def _offset(batches: list[list[Row]], position: int) -> tuple[int, int]:
    first = 0
    for number, batch in enumerate(batches):
        if position < first + len(batch):
            return number, position
        first += len(batch)
    return len(batches), first


@settings(max_examples=60)
@given(streams, batches, st.integers(1, 12), st.booleans())
def test_killed_while_it_is_recorded(stream: Stream, batches: list[list[Row]], at: int, full: bool) -> None:
    whole = [row for batch in batches for row in batch]
    with scratch() as folder:
        written(folder, batches)
        fail = FailAt(no_space if full else CrashError, at)
        done = False
        while not done:
            log = opened(folder, stream, fail)
            try:
                log.keep_key()
                done = True
            except (CrashError, ResourceError):
                pass
            log.abandon()
            assert opened(folder, stream).doubles.positions.tolist() == naive(stream, whole)
            assert recorded(log.files) is not None or not done


def test_what_is_recorded_is_not_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, [[(1, 1, 0, 0.0), (1, 1, 1, 0.0)], [(2, 1, 2, 0.0), (1, 1, 3, 0.0)]])
    with opened(tmp_path, KEYED) as log:
        log.keep_key()
    monkeypatch.setattr(module, "find", None)
    with opened(tmp_path, replace(KEYED, key=("TIME", "id"))) as log:
        log.keep_key()
        assert log.doubles.positions.tolist() == [1, 3]
        log.append(frame([(3, 1, 4, 0.0)]))
    assert opened(tmp_path, KEYED).doubles.positions.tolist() == [1, 3]
    assert log.recorded_doubles.end == 4


def test_trimmed_first_copies_stay_first(tmp_path: Path) -> None:
    """What was a double when the KEY was recorded stays one when retention takes the reading before it."""
    written(tmp_path, [[(n, 1, 0, 0.0) for n in range(40)] for _ in range(4)])
    with opened(tmp_path, KEYED) as log:
        log.keep_key()
        assert log.trim(1_000).rows > 0
    assert not sum(e.rows.height for e in opened(tmp_path, KEYED).entries() if isinstance(e, Batch))


def test_a_record_ahead_of_the_log_is_of_rows_that_are_lost(tmp_path: Path) -> None:
    written(tmp_path, [[(1, 1, 0, 0.0), (1, 1, 1, 0.0)]])
    with opened(tmp_path, KEYED) as log:
        record(log.files, Doubles(key_of(KEYED), 5, np.array([3, 4])))
        log.keep_key()
        assert log.doubles.positions.tolist() == [1]


def test_a_damaged_record_is_made_anew(tmp_path: Path) -> None:
    written(tmp_path, [[(1, 1, 0, 0.0), (1, 1, 1, 0.0)]])
    with opened(tmp_path, KEYED) as log:
        log.keep_key()
        whole = (tmp_path / FILE).read_bytes()
        for damaged in (b"", b"\0" * 7, whole[:-9], whole[8:], b"\2" + whole[1:], b"\xff" * len(whole)):
            (tmp_path / FILE).write_bytes(damaged)
            assert recorded(log.files) is None
            log.keep_key()
            assert (tmp_path / FILE).read_bytes() == whole


def test_the_rows_of_a_stream_without_a_key_cost_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, PLAIN) as log:
        log.keep_key()
        log.append(frame([(1, 1, 0, 0.0)] * 3))
    assert FILE not in log.files.names()
    assert sum(entry.rows.height for entry in log.entries() if isinstance(entry, Batch)) == 3
