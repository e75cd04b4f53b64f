"""The command line as its users see it: rows on stdout, messages on stderr, exit codes, JSON, stdin."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import polars as pl
import pytest

import nilometer
from nilometer.catalog import Stream
from nilometer.cli import main as cli
from nilometer.log import LogDirectory

SCHEMA = """
CREATE STREAM river (depth INT) SENSED EVERY 15 MINUTES;
CREATE SENSOR 5 OF river AT (120.0, 44.5) WITH kind = 'gauge';
CREATE SENSOR 7 OF river WITH kind = 'radar';
CREATE TABLE limits (id INT, maximum INT) STORED AT 'limits.csv';
"""

READINGS = """time,id,depth
2026-03-01T06:00:00Z,5,112
2026-03-01T06:00:00Z,7,98
2026-03-01T06:15:00Z,5,131
2026-03-01T06:15:00Z,7,deep
2026-03-01T06:30:00Z,7,99
2026-03-01T06:00:00Z,7,1
"""


@pytest.fixture
def field(tmp_path: Path) -> str:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    (tmp_path / "river.csv").write_text(READINGS)
    (tmp_path / "limits.csv").write_text("id,maximum\n5,120\n7,100\n")
    return str(tmp_path)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_rows_go_to_stdout_and_the_account_to_stderr(run, field: str) -> None:
    code, out, err = run("query", "--data", field, "SELECT id, depth FROM river WHERE depth > 100")
    assert code == 0
    assert out.splitlines() == ["id  depth", "--  -----", "5   112", "5   131"]
    assert "2 rows" in err
    assert "1 duplicate" in err
    assert "1 garbled" in err
    assert "line 5" in err


@pytest.mark.parametrize("host", ["gateway", "fjord", "reference"])
def test_json_lines_with_times_in_iso_8601(run, field: str, host: str) -> None:
    sql = "SELECT id, AVG(depth) AS mean FROM river [RANGE 30 MINUTES SLIDE 15 MINUTES] GROUP BY id"
    code, out, _ = run("query", "--on", host, "--data", field, "--json", sql)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {"tick": "2026-03-01T06:15:00Z", "id": 5, "mean": 121.5} in rows


def test_limit_says_how_many_there_were(run, field: str) -> None:
    _, out, err = run("query", "--data", field, "--limit", "1", "SELECT id FROM river")
    assert len(out.splitlines()) == 3
    assert "4 rows, 1 shown" in err


def test_a_dash_reads_the_query_from_stdin_and_set_gives_parameters(run, field: str) -> None:
    sql = "SELECT id FROM river WHERE depth > least_depth AND id IN wanted"
    code, out, _ = run(
        "query", "--data", field, "--json", "--set", "least_depth=100", "--set", "wanted=5,7", "-", stdin=sql
    )
    assert (code, out.splitlines()) == (0, ['{"id": 5}', '{"id": 5}'])


def test_a_stored_table_joins(run, field: str) -> None:
    sql = "SELECT river.id, depth FROM river, limits WHERE river.id = limits.id AND depth > maximum"
    _, out, _ = run("query", "--data", field, "--json", sql)
    assert out == '{"id": 5, "depth": 131}\n'


def test_a_wrong_query_ends_with_1_and_points_at_the_place(run, field: str) -> None:
    code, out, err = run("query", "--data", field, "SELECT depht FROM river")
    assert (code, out) == (1, "")
    assert "line 1, column 8" in err
    assert "did you mean 'depth'?" in err


def test_errors_are_json_where_json_was_asked_for(run, field: str) -> None:
    code, _, err = run("query", "--data", field, "--json", "SELECT depht FROM river")
    error = json.loads(err)
    assert (code, error["error"], error["line"], error["column"]) == (1, "BindError", 1, 8)


def test_wrong_usage_ends_with_2(run) -> None:
    assert run("query")[0] == 2
    assert run("query", "--nonsense", "x")[0] == 2


def test_a_missing_directory_says_what_to_give(run, tmp_path: Path) -> None:
    code, _, err = run("query", "--data", str(tmp_path / "none"), "SELECT 1 FROM x")
    assert code == 1
    assert "schema.sql" in err


@pytest.mark.parametrize("stage", ["ast", "logical", "optimized", "physical"])
def test_explain_shows_every_stage(run, field: str, stage: str) -> None:
    sql = "SELECT AVG(depth) FROM river [RANGE 1 HOUR]"
    code, out, _ = run("explain", "--data", field, "--stage", stage, sql)
    assert code == 0
    assert out
    _, out, _ = run("explain", "--data", field, "--stage", stage, "--json", sql)
    assert json.loads(out)["stage"] == stage


def test_explain_verbose_names_every_rule(run, field: str) -> None:
    _, out, _ = run("explain", "--data", field, "--verbose", "SELECT depth FROM river WHERE kind = 'gauge'")
    assert "fold_constants" in out
    assert "(unchanged)" in out
    assert "SENSORS {5}" in out


def test_streams_and_sensors_are_listed(run, field: str) -> None:
    _, out, _ = run("streams", "--data", field)
    assert "river" in out
    assert "15 MINUTES" in out
    assert "limits" in out
    _, out, _ = run("sensors", "--data", field, "--json")
    assert json.loads(out.splitlines()[0]) == {
        "id": 5,
        "stream": "river",
        "location": [120.0, 44.5],
        "kind": "gauge",
    }


def test_a_single_file_needs_no_schema(run, tmp_path: Path) -> None:
    path = tmp_path / "readings.csv"
    path.write_text("ts,moteid,temp\n2004-03-04 00:00:00.15,43,19.5\n2004-03-04 00:00:01,47,18.8\n")
    code, out, err = run(
        "query", "--data", str(path), "--json", "SELECT time, id, temp FROM readings WHERE temp > 19"
    )
    assert code == 0
    assert json.loads(out) == {"time": "2004-03-04T00:00:00.15Z", "id": 43, "temp": 19.5}
    assert "'ts' for time and 'moteid' for id" in err


def test_the_catalog_can_be_kept(run, tmp_path: Path) -> None:
    import nilometer

    kept = str(tmp_path / "catalog.db")
    nilometer.connect(catalog=kept).execute(
        "CREATE STREAM air (pm25 FLOAT UNIT 'ug/m3') PUSHED EXPECT EVERY 1 MINUTE"
    )
    _, out, _ = run("streams", "--catalog", kept, "--json")
    assert json.loads(out)["name"] == "air"


def test_what_cannot_be_drawn_is_said(run, tmp_path) -> None:
    code, _, err = run("reproduce", "snee-forms", "--plot", str(tmp_path / "a.png"))
    assert code == 1
    assert "no plot of 'snee-forms'" in err
    assert "--plot draws snee, fjords" in err


def test_a_figure_is_reproduced(run) -> None:
    code, out, _ = run("reproduce", "snee-forms", "--json")
    figure = json.loads(out)["figures"]["Fig. 8"]
    assert code == 0
    assert figure["paper"] == figure["ours"]


def test_an_unknown_benchmark_says_what_there_is(run) -> None:
    code, _, err = run("bench", "operator")
    assert code == 1
    assert "did you mean 'operators'?" in err


def test_the_version(run) -> None:
    assert run("--version")[1].startswith("nilometer ")


def test_size_says_how_many_peers_a_join_needs(run, tmp_path: Path) -> None:
    code, out, _ = run(
        "size",
        "--rate",
        "30",
        "--rate",
        "400",
        "--window",
        "50 s",
        "--memory",
        "100",
        "--completeness",
        "0.5",
    )
    assert code == 0
    assert "peers: 100, which find 50.0%" in out
    assert "39 peers, which find 19.5%" in out
    (tmp_path / "schema.sql").write_text(
        "CREATE STREAM a (x INT) PUSHED EXPECT EVERY 1 SECOND;\nCREATE STREAM b (x INT) PUSHED;\n"
    )
    join = "SELECT a.x, time FROM a, b WINDOW = 50 SECONDS WHERE a.x = b.x"
    code, _, err = run("size", join, "--data", str(tmp_path))
    assert (code, "the rate of 'b' is not known" in err) == (1, True)
    # What its log has beats what is declared, and both are shown.
    for name, apart in (("a", 500_000), ("b", 250_000)):
        rows = {"id": [1] * 400, "time": [apart * n for n in range(400)], "x": [n % 7 for n in range(400)]}
        stream = nilometer.connect(tmp_path).catalog.extent(name)
        assert isinstance(stream, Stream)
        with LogDirectory(tmp_path).log(stream) as log:
            log.append(pl.DataFrame(rows).select(column.name for column in stream.columns))
    code, out, _ = run("size", join, "--data", str(tmp_path), "--memory", "100")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][:4] == ["stream", "rate/s", "measured/s", "declared/s"]
    (first, second) = ([float(one) for one in line[1:3]] for line in lines[2:4])
    assert first == pytest.approx([2, 2], rel=0.05)
    assert second == pytest.approx([4, 4], rel=0.05)


def test_peers_of_a_directory_that_nobody_serves(run, field: str) -> None:
    code, _, err = run("peers", "--data", field)
    assert code == 1
    assert "nobody serves this directory" in err


def test_a_peer_needs_a_key(run, field: str, tmp_path: Path) -> None:
    code, _, err = run("serve", "--data", field, "--peer", "127.0.0.1:7001")
    assert (code, "peers share a key" in err) == (1, True)
    code, _, err = run("serve", "--data", field, "--join", "127.0.0.1:7001")
    assert (code, "add --peer" in err) == (1, True)
    (tmp_path / "key").write_text("short")
    code, _, err = run("serve", "--data", field, "--peer", "127.0.0.1:x", "--key-file", str(tmp_path / "key"))
    assert (code, "is no address of a peer" in err) == (1, True)
