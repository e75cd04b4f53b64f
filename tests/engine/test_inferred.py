"""One file without a schema: which columns it takes for time and id, in which unit, under which name, and when it is read."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import nilometer
from nilometer.engine.inspecting import inspect
from nilometer.errors import DataError
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


def test_days_of_a_spreadsheet_are_no_seconds(tmp_path: Path) -> None:
    path = tmp_path / "level.csv"
    path.write_text("Date,Station,Level\n46023.5,A,1\n46023.75,A,2\n")
    with pytest.raises(DataError, match=r"are numbers of days, such as 46023\.5 in 'Date'"):
        nilometer.connect(path)


def test_a_name_with_a_blank_tells_sensors_apart(tmp_path: Path) -> None:
    path = tmp_path / "hall.csv"
    path.write_text("time,Sensor ID,temp\n2026-01-01T00:00Z,S1,5\n2026-01-01T00:00Z,S2,6\n")
    assert [row["id"] for row in nilometer.connect(path).sql("SELECT id FROM hall").run()] == ["S1", "S2"]


def test_nested_messages_have_the_columns_that_inspect_proposes(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    message = '{{"ts": {}, "device": {{"id": "dev-{}"}}, "data": {{"temp": {}}}}}\n'
    path.write_text("".join(message.format((NOON + n) * 1000, n % 2, n / 2) for n in range(6)))
    rows = (
        nilometer.connect(path).sql("SELECT id, MAX(temp) AS top FROM messages GROUP BY id ORDER BY id").run()
    )
    assert [(row["id"], row["top"]) for row in rows] == [("dev-0", 2.0), ("dev-1", 2.5)]


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


OTHER_FORMS = {
    "a delimiter": b"time|id|v\n2026-12-31T17:05:00Z|x|1.5\n2026-12-31T17:06:00Z|x|n/a\n",
    "comments before the header": b"# logger 4\n# Cel\ntime,id,v\n2026-12-31 17:05:00,x,1.5\n2026-12-31 17:06:00,x,\n",
    "decimal commas": b"time;id;v\n2026-12-31 17:05;x;1,5\n2026-12-31 17:06;x;\n",
    "a format of times": b"Zeit,id,v\n31.12.2026 17:05,x,1.5\n31.12.2026 17:06,x,\n",
    "dates and times of day": b"Date,Time,id,v\n12/31/2026,5:05 PM,x,1.5\n12/31/2026,5:06 PM,x,\n",
    "dates of ISO and times of day": b"date,time,id,v\n2026-12-31,17:05:00,x,1.5\n2026-12-31,17:06:00,x,\n",
    "UTF-16": "time,id,v\n2026-12-31 17:05,x,1.5\n2026-12-31 17:06,x,\n".encode("utf-16"),
    "line ends of old Macs": b"time,id,v\r2026-12-31 17:05,x,1.5\r2026-12-31 17:06,x,\r",
    "Windows": "time;id;v;Gerät (°C)\n2026-12-31 17:05;x;1.5;Küche\n2026-12-31 17:06;x;;Küche\n".encode(
        "cp1252"
    ),
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_a_file_in_another_form_is_read_as_inspect_would_declare_it(tmp_path: Path, form: str) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(OTHER_FORMS[form])
    expected = [
        '{"time": "2026-12-31T17:05:00Z", "id": "x", "v": 1.5}',
        '{"time": "2026-12-31T17:06:00Z", "id": "x", "v": null}',
    ]
    db = nilometer.connect(path)
    assert list(db.sql("SELECT time, id, v FROM s").run().json_rows()) == expected
    # What inspect proposes reads the same.
    declared = nilometer.connect()
    declared.execute(inspect(str(path)).declaration)
    declared.attach("s", path)
    assert list(declared.sql("SELECT time, id, v FROM s").run().json_rows()) == expected


def test_a_file_without_a_header_loses_no_line(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("2026-12-31 17:05:00,x,1.5\n2026-12-31 17:06:00,y,2.5\n")
    db = nilometer.connect(path)
    assert list(db.sql("SELECT column_2, column_3 FROM s").run().json_rows()) == [
        '{"column_2": "x", "column_3": 1.5}',
        '{"column_2": "y", "column_3": 2.5}',
    ]
    # Numbers may be names: there is a name above the times.
    path.write_text("ts,773869,767541\n2026-12-31 17:05:00,1,2\n")
    assert len(nilometer.connect(path).sql("SELECT * FROM s").run()) == 1


def test_a_reading_without_a_time_of_day_is_garbled(tmp_path: Path) -> None:
    rows = [f"31.12.2026;17:{minute:02};x;1" for minute in range(20)]
    (tmp_path / "s.csv").write_text(
        "\n".join(["Tag;Uhr;id;v", *rows, "31.12.2026;;x;1", "31.12.2026;25:00;x;1"])
    )
    db = nilometer.connect(tmp_path / "s.csv")
    assert list(db.sql("SELECT COUNT(*) AS n FROM s").run().json_rows()) == ['{"n": 20}']
    (entry,) = db.data.entries(db.catalog.stream("s"))
    assert (entry.rows.height, entry.garbled) == (20, 2)


def test_a_table_may_have_another_form_too(tmp_path: Path) -> None:
    (tmp_path / "rooms.csv").write_text("# where the motes are\nmote|room\n1|hall\n2|attic\n")
    db = nilometer.connect(tmp_path / "rooms.csv")
    assert list(db.sql("SELECT room FROM rooms WHERE mote = 2").run().json_rows()) == ['{"room": "attic"}']


def test_a_clock_is_for_files(tmp_path: Path) -> None:
    with pytest.raises(nilometer.NilometerError, match="CLOCK is for files"):
        nilometer.connect().execute(
            "CREATE STREAM s (v INT) PUSHED FROM 'mqtt://localhost/s' FORMAT CSV (CLOCK 'Uhrzeit')"
        )
