"""One file without a schema: which columns it takes for time and id, in which unit, under which name, and when it is read."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import nilometer
from nilometer.ingest import readers

NOON = 1_767_268_800


@pytest.mark.parametrize(
    ("times", "spelt"),
    [
        ((NOON, NOON + 1), "seconds"),
        ((f"{NOON}.0", f"{NOON + 1}.25"), "seconds"),
        ((NOON * 10**3, (NOON + 1) * 10**3), "milliseconds"),
        ((NOON * 10**6, (NOON + 1) * 10**6), "microseconds"),
        ((NOON * 10**9, (NOON + 1) * 10**9 + 999), "nanoseconds"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_numeric_times_have_the_unit_that_their_size_tells(
    tmp_path: Path, times: tuple[object, ...], spelt: str, ending: str
) -> None:
    path = tmp_path / f"s.{ending}"
    numbers = [float(t) if isinstance(t, str) else t for t in times]
    frame = pl.DataFrame({"ts": numbers, "id": [1, 1]})
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[ending](path)
    db = nilometer.connect(path)
    assert db.notes == [
        f"{path.name} has no schema: taking 'ts' for time",
        f"taking 'ts' as {spelt} since 1970",
    ]
    fraction = 250_000 if isinstance(times[0], str) else 0
    (entry,) = db.data.entries(db.catalog.stream("s"))
    assert entry.rows["time"].to_list() == [NOON * 10**6, (NOON + 1) * 10**6 + fraction]
    assert len(db.sql("SELECT time, id FROM s").run()) == 2


def test_small_numbers_are_microseconds_as_in_a_declared_stream(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("time,id\n1,1\n20,1\n")
    db = nilometer.connect(path)
    assert db.notes == ["taking 'time' as microseconds since 1970"]
    assert db.data.entries(db.catalog.stream("s"))[0].rows["time"].to_list() == [1, 20]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my-readings.csv", "my_readings"),
        ("2026.csv", "_2026"),
        ("select.csv", "select_"),
        ("a b.c.csv", "a_b"),
    ],
)
def test_the_stream_has_a_name_that_a_query_can_say(tmp_path: Path, file: str, name: str) -> None:
    path = tmp_path / file
    path.write_text("time,id\n2026-01-01T00:00:00Z,1\n")
    db = nilometer.connect(path)
    assert len(db.sql(f"SELECT * FROM {name}").run()) == 1
    assert db.notes == [f"{file} is the stream {name}"]


def test_the_rows_are_read_when_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.csv"
    path.write_text("sensor,ts,v\nx,2026-01-01T00:00:00Z,5\n")
    calls: list[object] = []
    plain = readers.read
    monkeypatch.setattr(readers, "read", lambda *given: calls.append(given) or plain(*given))
    db = nilometer.connect(path)
    query = db.sql("SELECT id, v FROM s")
    query.explain()
    assert calls == []
    assert list(query.run().json_rows()) == ['{"id": "x", "v": 5}']
    assert len(calls) == 1
    assert db.notes == ["s.csv has no schema: taking 'ts' for time and 'sensor' for id"]
    assert db.data.notes == []


@pytest.mark.parametrize(("text", "note"), [("", ["s.csv is empty"]), ("ts,id,v\n", [])])
def test_a_file_without_rows_has_none(tmp_path: Path, text: str, note: list[str]) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    db = nilometer.connect(path)
    assert len(db.sql("SELECT * FROM s").run()) == 0
    assert db.data.notes == note


def test_open_quotes_swallow_no_readings(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text('time,id,v\n1,1,"2\n2,1,3\n3,1,"4\n4,1,5\n')
    db = nilometer.connect(path)
    assert list(db.sql("SELECT v FROM s").run().json_rows()) == ['{"v": 3}', '{"v": 5}']
    path.write_text('time,id,note\n1,1,"a\nb"\n2,1,c\n')
    db = nilometer.connect(path)
    assert [row["note"] for row in map(json.loads, db.sql("SELECT note FROM s").run().json_rows())] == [
        "a\nb",
        "c",
    ]
