"""Columns come and go without rewriting; types stay."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.dataflow import Batch, Heartbeat
from nilometer.errors import DataError
from nilometer.log import LogDirectory, StreamLog
from nilometer.types import FLOAT, POINT, STRING, Column, list_of

OLD = {"time": pl.Int64(), "a": pl.Int64()}
NEW = OLD | {"b": pl.String()}


def test_an_added_column_is_null_in_what_was_written_before(tmp_path: Path) -> None:
    with StreamLog(tmp_path, OLD) as log:
        log.append(pl.DataFrame({"time": [1], "a": [10]}))
    old = next(tmp_path.glob("*.segment")).read_bytes()
    with StreamLog(tmp_path, NEW) as log:
        log.append(pl.DataFrame({"time": [2], "a": [20], "b": ["x"]}))
        log.append(pl.DataFrame({"time": [3], "a": [30]}))
    assert min(tmp_path.glob("*.segment")).read_bytes() == old
    expected = pl.DataFrame({"time": [1, 2, 3], "a": [10, 20, 30], "b": [None, "x", None]})
    assert_frame_equal(pl.concat(StreamLog(tmp_path).scan()), expected)
    rows = [e.rows for e in StreamLog(tmp_path).read() if e.rows is not None]
    assert_frame_equal(pl.concat(rows), expected)
    assert_frame_equal(pl.concat(StreamLog(tmp_path).scan(columns=["b"])), expected.select("b"))
    assert not log.verify().damages


def test_a_dropped_column_is_ignored_and_may_not_come_back_as_another_type(tmp_path: Path) -> None:
    with StreamLog(tmp_path, NEW) as log:
        log.append(pl.DataFrame({"time": [1], "a": [10], "b": ["x"]}))
        log.evolve(OLD)
        log.append(pl.DataFrame({"time": [2], "a": [20]}))
        assert_frame_equal(pl.concat(log.scan()), pl.DataFrame({"time": [1, 2], "a": [10, 20]}))
        with pytest.raises(DataError, match="column 'b' is large_string in the log, not int64"):
            log.evolve(OLD | {"b": pl.Int64()})
        log.append(pl.DataFrame({"time": [3], "a": [30]}))
        assert log.end.position == 3


def test_a_changed_type_is_refused(tmp_path: Path) -> None:
    with StreamLog(tmp_path, OLD) as log:
        log.append(pl.DataFrame({"time": [1], "a": [10]}))
        with pytest.raises(DataError, match="'a' is Int64 in the log, not String"):
            log.append(pl.DataFrame({"time": [1], "a": ["ten"]}))
        with pytest.raises(DataError, match="no column 'c'"):
            log.append(pl.DataFrame({"time": [1], "c": [1]}))
    with pytest.raises(DataError, match="'a' is int64 in the log, not double"):
        _ = StreamLog(tmp_path, OLD | {"a": pl.Float64()}).writer
    with pytest.raises(DataError, match="'a' is Int64 in the log, not Float64"):
        list(StreamLog(tmp_path, OLD | {"a": pl.Float64()}).scan())
    with pytest.raises(DataError, match="Categorical"):
        _ = StreamLog(tmp_path / "other", {"c": pl.Categorical()}).writer
    # The lock was given back each time.
    StreamLog(tmp_path).append(pl.DataFrame({"time": [2], "a": [20]}))


def test_every_type_of_the_language_and_the_gateway_s_entries(tmp_path: Path) -> None:
    columns = (Column("v", FLOAT), Column("name", STRING), Column("at", POINT), Column("w", list_of(FLOAT)))
    stream = Stream("River", stream_columns(columns))
    logs = LogDirectory(tmp_path)
    rows = pl.DataFrame(
        {
            "time": [5, 7],
            "id": [1, None],
            "v": [0.5, None],
            "name": ["ä", None],
            "at": [{"x": 1.0, "y": 2.0}, None],
            "w": [[1.0, None], None],
        }
    )
    with logs.log(stream) as log:
        log.append(rows, arrived=9)
        log.heartbeat(8)
        log.append(rows[:1])
    assert logs.streams() == ["river"]
    first, beat, second = logs.entries(stream)
    assert isinstance(first, Batch)
    assert isinstance(second, Batch)
    assert_frame_equal(first.rows, rows)
    assert beat == Heartbeat(8)
    assert_frame_equal(second.rows, rows[:1])
    assert_frame_equal(pl.concat(log.scan()), pl.concat([rows, rows[:1]]))
    assert [h.index.least_time for h in log.segments()] == [5]


def test_names_of_any_kind_have_their_folder(tmp_path: Path) -> None:
    logs = LogDirectory(tmp_path)
    for name in ("River", "a/b", "..", "größe"):
        with logs.log(name, OLD) as log:
            log.append(pl.DataFrame({"time": [1], "a": [1]}))
    assert logs.streams() == ["..", "a/b", "größe", "river"]
    with pytest.raises(DataError, match="no log"):
        logs.existing("lake")
