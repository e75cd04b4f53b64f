"""Other people's files, as a new user meets them: out of order, in parts, compressed, with trouble; and what is said of it."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from nilometer.cli import main as cli


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def lines(first: int, last: int, station: str = "a") -> list[str]:
    return [f"2026-01-{day:02}T00:00:00Z,{station},{day}" for day in range(first, last)]


def write(path: Path, rows: list[str], header: str = "ts,station,v") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


# ---- order ----------------------------------------------------------------------------------------------------------


def test_a_file_out_of_order_loses_nothing(run, tmp_path: Path) -> None:
    rows = lines(1, 29)
    random.Random(3).shuffle(rows)
    path = write(tmp_path / "air.csv", rows)
    code, out, err = run("query", "--data", str(path), "SELECT id, v FROM air", "--json", "--strict")
    assert code == 0
    assert [json.loads(line)["v"] for line in out.splitlines()] == list(range(1, 29))
    code, _, err = run("query", "--data", str(path), "SELECT id, v FROM air")
    assert "air.csv is not in the order of time: its readings were sorted (" in err
    assert "28 rows; air: 28 read\n" in err


def test_log_order_counts_late_readings_and_says_what_to_do(run, tmp_path: Path) -> None:
    path = write(tmp_path / "air.csv", [*lines(3, 6), *lines(1, 3)])
    arguments = ("query", "--data", str(path), "--log-order", "SELECT v FROM air")
    code, out, err = run(*arguments)
    assert code == 0
    assert out.splitlines()[2:] == ["3", "4", "5"]
    assert "3 rows; air: 5 read, 2 late" in err
    assert "late readings (2) came after the watermark of their stream: declare a longer DELAY" in err
    assert "or leave out --log-order" in err
    code, out, err = run(*arguments, "--strict")
    assert code == 1
    assert out.splitlines()[2:] == ["3", "4", "5"]
    assert "--strict: readings were lost; air: 2 late" in err


# ---- the account ----------------------------------------------------------------------------------------------------


def test_quiet_prints_rows_and_errors_only(run, tmp_path: Path) -> None:
    path = write(tmp_path / "air.csv", [*lines(2, 3), *lines(1, 2), "soon,a,1"])
    code, out, err = run("query", "--quiet", "--data", str(path), "SELECT v FROM air")
    assert (code, err) == (0, "")
    assert out.splitlines()[2:] == ["1", "2"]
    code, _, err = run("query", "--quiet", "--data", str(path), "SELECT w FROM air")
    assert code == 1
    assert "no column or parameter 'w'" in err


def test_strict_ends_with_1_when_a_reading_is_garbled(run, tmp_path: Path) -> None:
    path = write(tmp_path / "air.csv", [*lines(1, 4), "soon,a,1"])
    code, _, err = run("query", "--strict", "--data", str(path), "SELECT v FROM air")
    assert code == 1
    assert "garbled in air: line 5: time is 'soon', not a TIME".replace("air: ", "air: air.csv, ") in err
    assert "--strict: readings were lost; air: 1 garbled" in err


def test_the_account_is_json_where_json_was_asked_for(run, tmp_path: Path) -> None:
    path = write(tmp_path / "air.csv", [*lines(2, 3), *lines(1, 2), "soon,a,1"])
    _, _, err = run("query", "--json", "--data", str(path), "--limit", "1", "SELECT v FROM air")
    told = json.loads(err)["summary"]
    assert (told["rows"], told["shown"], told["lost"]) == (2, 1, {"air": {"garbled": 1}})
    assert told["streams"]["air"]["read"] == 3
    assert told["garbled"] == {"air": ["air.csv, line 4: time is 'soon', not a TIME"]}
    assert any("not in the order of time" in note for note in told["notes"])


# ---- several files --------------------------------------------------------------------------------------------------


def test_a_directory_a_pattern_and_compressed_files_are_one_stream(run, tmp_path: Path) -> None:
    folder = tmp_path / "air"
    write(folder / "2.csv", lines(4, 6))
    text = ("\n".join(["ts,station,v", *lines(1, 4)]) + "\n").encode()
    (folder / "3.csv.gz").write_bytes(gzip.compress(text))
    text = ("\n".join(["ts,station,v", *lines(6, 8)]) + "\n").encode()
    (folder / "1.csv.zst").write_bytes(pa.compress(text, codec="zstd", asbytes=True))
    (folder / "_SUCCESS").write_text("")
    for given in (str(folder), f"{folder}/*.csv*", f"air={folder}"):
        code, out, err = run("query", "--data", given, "SELECT v FROM air", "--strict")
        assert code == 0, err
        assert [int(line) for line in out.splitlines()[2:]] == list(range(1, 8))
        assert "7 rows; air: 7 read" in err


def test_partitions_are_columns(run, tmp_path: Path) -> None:
    for year in (2025, 2024):
        frame = pl.DataFrame({"time": [f"{year}-02-01T00:00:00Z"], "id": [1], "v": [year % 100]})
        (tmp_path / "lake" / f"year={year}").mkdir(parents=True)
        frame.write_parquet(tmp_path / "lake" / f"year={year}" / "part-0.parquet")
    _, out, _ = run(
        "query", "--json", "--data", str(tmp_path / "lake"), "SELECT v, year FROM lake WHERE year > 2024"
    )
    assert out == '{"v": 25, "year": 2025}\n'
    (tmp_path / "schema.sql").write_text(
        "CREATE STREAM lake (id INT, v INT, year INT) PUSHED;CREATE TABLE years STORED AT 'lake';"
    )
    _, out, _ = run("query", "--json", "--data", str(tmp_path), "SELECT v, year FROM lake WHERE year < 2025")
    assert out == '{"v": 24, "year": 2024}\n'
    sql = "SELECT lake.v, years.year FROM lake, years WHERE lake.v = years.v AND lake.year > 2024"
    _, out, _ = run("query", "--json", "--data", str(tmp_path), sql)
    assert out == '{"v": 25, "year": 2025}\n'


def test_several_streams_by_name(run, tmp_path: Path) -> None:
    one, two = write(tmp_path / "x.csv", lines(1, 3)), write(tmp_path / "y.csv", lines(3, 4, "b"))
    data = ("--data", f"air={one}", "--data", f"wind={two}")
    code, out, _ = run("query", *data, "SELECT id, v FROM air UNION SELECT id, v FROM wind")
    assert code == 0
    assert len(out.splitlines()) == 5
    data = ("--data", str(one), "--data", str(two))
    code, out, _ = run("query", *data, "SELECT id, v FROM x UNION SELECT id, v FROM y")
    assert code == 0
    assert len(out.splitlines()) == 5
    code, _, err = run("query", "--data", str(one), "--data", str(one), "SELECT v FROM x")
    assert code == 1
    assert "--data is given 2 times without the name of a stream" in err


def test_a_file_without_times_is_a_table_that_joins(run, tmp_path: Path) -> None:
    readings = write(
        tmp_path / "readings.csv", ["2026-01-01T00:00Z,1,5", "2026-01-01T00:01Z,2,7"], "ts,mote,v"
    )
    motes = write(tmp_path / "motes.csv", ["1,hall", "3,attic"], "mote,room")
    sql = "SELECT r.mote, m.room, v FROM readings r LEFT JOIN m ON r.mote = m.mote"
    data = ("--data", f"readings={readings}", "--data", f"m={motes}")
    code, out, err = run("query", "--json", *data, sql)
    assert code == 0, err
    assert out == '{"mote": 1, "room": "hall", "v": 5}\n{"mote": 2, "room": null, "v": 7}\n'
    assert "no column of motes.csv looks like a time: it is the table m" in err
    _, out, _ = run("query", "--json", "--data", str(motes), "SELECT COUNT(*) AS n FROM motes")
    assert out == '{"n": 2}\n'
    schema = write(
        tmp_path / "s.sql", [], "CREATE TABLE rooms (mote INT, room STRING) STORED AT 'nowhere.csv';"
    )
    sql = "SELECT room FROM rooms WHERE mote = 3"
    _, out, _ = run("query", "--json", "--data", str(schema), "--data", f"rooms={motes}", sql)
    assert out == '{"room": "attic"}\n'


def test_a_file_is_read_as_inspect_would_declare_it(run, tmp_path: Path) -> None:
    path = write(tmp_path / "zeiten.csv", ["31/12/2026 17:05,1", "31/12/2026 17:06,2"], "zeit,v")
    code, out, err = run("query", "--json", "--data", str(path), "SELECT zeit, v FROM zeiten WHERE v > 1")
    assert (code, out) == (0, '{"zeit": "2026-12-31T17:06:00Z", "v": 2}\n')
    assert (
        "zeiten.csv has no schema: taking time TIME FROM zeit, FORMAT CSV (TIME FORMAT '%d/%m/%Y %H:%M')"
        in err
    )
    assert f" inspect {path}' shows all of it" in err


def test_days_and_months_that_cannot_be_told_apart_are_not_guessed(run, tmp_path: Path) -> None:
    path = write(tmp_path / "zeiten.csv", ["01/12/2026 17:05,1", "02/12/2026 17:06,2"], "zeit,v")
    code, _, err = run("query", "--data", str(path), "SELECT * FROM zeiten")
    assert code == 1
    assert "the times of 'zeiten.csv' need a declaration" in err
    assert "day and month cannot be told apart" in err
    assert " inspect " in err


def test_another_header_is_told(run, tmp_path: Path) -> None:
    write(tmp_path / "air" / "a.csv", lines(1, 3))
    write(tmp_path / "air" / "b.csv", ["2026-02-01T00:00:00Z,7"], "ts,w")
    code, _, err = run("query", "--data", str(tmp_path / "air"), "SELECT v FROM air")
    assert code == 1
    assert "has no schema.sql, and its files have different columns" in err
    assert "a.csv has ts, station, v; b.csv has ts, w" in err
    code, out, err = run("query", "--data", f"air={tmp_path / 'air'}", "SELECT v, w FROM air")
    assert code == 0
    assert out.splitlines()[-1].split() == ["NULL", "7"]
    assert "b.csv has no station, v and has also w, unlike a.csv" in err


def test_errors_name_the_file(run, tmp_path: Path) -> None:
    write(tmp_path / "air" / "a.csv", lines(1, 3))
    (tmp_path / "air" / "b.csv.zst").write_bytes(b"this is no zstd")
    code, _, err = run("query", "--data", str(tmp_path / "air"), "SELECT v FROM air")
    assert code == 1
    assert "'b.csv.zst' is not a whole zstd file" in err
    code, _, err = run("query", "--data", f"{tmp_path}/air/*.jsonl", "SELECT v FROM air")
    assert code == 1
    assert "no data file matches" in err
    code, _, err = run("query", "--data", str(tmp_path / "none.csv"), "SELECT v FROM none")
    assert code == 1
    assert "there is no file" in err


def test_two_sources_of_a_declared_stream_are_refused(run, tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE STREAM air (v INT) PUSHED;")
    write(tmp_path / "air.csv", lines(1, 2))
    write(tmp_path / "air" / "a.csv", lines(1, 2))
    code, _, err = run("query", "--data", str(tmp_path), "SELECT v FROM air")
    assert code == 1
    assert "2 files for 'air': air.csv, air" in err


def test_a_limit_for_each_window_is_told(run, tmp_path: Path) -> None:
    times = [f"2026-01-01T0{hour}:0{minute}:00Z,a,1" for hour in range(4) for minute in range(hour + 1)]
    path = str(write(tmp_path / "air.csv", times))
    runs = "SELECT id, window_start, COUNT(*) AS n FROM SESSION(air, 10 MINUTES) GROUP BY id, window_start"
    code, out, err = run("query", "--data", path, f"{runs} ORDER BY n DESC LIMIT 2")
    assert code == 0
    assert len(out.splitlines()) == 2 + 4
    assert "LIMIT 2 is for each window" in err
    code, out, err = run("query", "--data", path, f"SELECT n FROM (RSTREAM {runs}) ORDER BY n DESC LIMIT 2")
    assert out.split() == ["n", "-", "4", "3"]
    assert "LIMIT" not in err
    # Brackets show by the tick that there are several evaluations.
    hourly = "SELECT id FROM air [RANGE 1 HOUR SLIDE 1 HOUR] ORDER BY id LIMIT 1"
    _, out, err = run("query", "--data", path, hourly)
    assert len(out.splitlines()) > 3
    assert "LIMIT" not in err
    _, _, err = run("query", "--data", path, "--json", f"{runs} ORDER BY n DESC LIMIT 2")
    assert "LIMIT 2 is for each window" in json.loads(err.splitlines()[-1])["summary"]["notes"][0]


# ---- guesses --------------------------------------------------------------------------------------------------------


def test_the_only_column_of_times_is_the_time_and_one_bad_time_is_one_garbled_row(
    run, tmp_path: Path
) -> None:
    path = write(tmp_path / "air.csv", lines(1, 3), "measured_at,monitor_id,pm")
    code, out, err = run("query", "--data", str(path), "SELECT id, pm FROM air")
    assert code == 0
    assert len(out.splitlines()) == 4
    assert "taking 'measured_at' for time and 'monitor_id' for id" in err
    path = write(tmp_path / "air.csv", [*lines(1, 3), "n/a,a,9"])
    code, out, err = run("query", "--data", str(path), "SELECT id, v FROM air")
    assert code == 0
    assert "2 rows; air: 3 read, 1 garbled" in err


def test_hints_begin_with_the_name_that_was_typed(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "zeiten.csv", ["11/12/2026 17:05,1", "11/12/2026 17:06,2"], "zeit,v")
    monkeypatch.setenv("NILOMETER_COMMAND", "./nilo")
    for json_option in ((), ("--json",)):
        _, _, err = run("query", *json_option, "--data", str(path), "SELECT * FROM zeiten")
        assert f"'./nilo inspect {path} --write'" in err


def test_limit_leaves_nothing_unanswered(run, tmp_path: Path) -> None:
    path = write(tmp_path / "air.csv", lines(1, 20))
    code, out, err = run(
        "query", "--strict", "--data", str(path), "SELECT DATE(ts) AS day, v FROM air LIMIT 2"
    )
    assert code == 0, err
    assert out.splitlines()[-1].startswith("2026-01-02T00:00:00Z")
    assert "unanswered" not in err


def test_ids_with_leading_zeros_are_not_one_sensor(run, tmp_path: Path) -> None:
    rows = "time,id,v\n2026-01-01T00:00Z,01,1\n2026-01-01T00:00Z,1,2\n"
    (tmp_path / "air.csv").write_text(rows, encoding="utf-8")
    code, out, _ = run(
        "query", "--data", str(tmp_path / "air.csv"), "SELECT id, COUNT(*) FROM air GROUP BY id"
    )
    assert code == 0
    assert [line.split() for line in out.splitlines()[2:]] == [["01", "1"], ["1", "1"]]
    _, out, _ = run("inspect", str(tmp_path / "air.csv"))
    assert "id STRING" in out
    (tmp_path / "schema.sql").write_text("CREATE STREAM air (v INT) SENSED EVERY 1 MINUTE;", encoding="utf-8")
    _, out, _ = run("query", "--data", str(tmp_path), "SELECT id, v FROM air")
    assert [line.split() for line in out.splitlines()[2:]] == [["01", "1"], ["1", "2"]]


def test_messages_without_a_declared_value_are_counted(run, tmp_path: Path) -> None:
    messages = [{"t": 1767225600, "a": 1, "b": 2}, {"t": 1767225660, "a": 1}, {"t": 1767225720, "b": 2}]
    (tmp_path / "air.jsonl").write_text("\n".join(map(json.dumps, messages)), encoding="utf-8")
    (tmp_path / "schema.sql").write_text(
        "CREATE STREAM air (time FROM t, a INT, b INT) PUSHED;", encoding="utf-8"
    )
    code, _, err = run("query", "--data", str(tmp_path), "SELECT * FROM air")
    assert code == 0
    assert "air.jsonl: of 3 readings, no value for a in 1, b in 1" in err


def test_inspect_takes_t_for_the_time_only_if_its_numbers_are_times(run, tmp_path: Path) -> None:
    for name, values in (("moments", (1767225600, 1767225660, 1767225720)), ("degrees", (20, 21, 22))):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps({"t": t, "x": 1.5}) for t in values), encoding="utf-8")
        _, out, _ = run("inspect", str(path))
        assert ("time INT UNIT 's' FROM t" in out) == (name == "moments")
