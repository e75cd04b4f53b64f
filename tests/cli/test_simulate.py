"""`nilometer simulate`: rows on stdout, the report on stderr or as the last JSON line, pictures on request, clear refusals."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from nilometer.cli import main as cli

SCHEMA = """
CREATE STREAM River (id INT, time INT UNIT 's', rain INT, depth INT) SENSED EVERY 15 MINUTES;
CREATE STREAM Hilltop (id INT, time INT UNIT 's', rain INT) SENSED EVERY 15 MINUTES;
"""
TOPOLOGY = str(Path(__file__).parents[1] / "catalog" / "data" / "snee.toml")
DEPTHS = "RSTREAM SELECT River.id, River.depth FROM River[NOW]"


@pytest.fixture
def field(tmp_path: Path) -> Path:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", "simulate", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_rows_and_the_report(run, field: Path) -> None:
    code, out, err = run("--data", str(field), "--network", TOPOLOGY, "--for", "2d", "--limit", "3", DEPTHS)
    assert code == 0
    assert out.splitlines()[0].split() == ["tick", "id", "depth"]
    assert len(out.splitlines()) == 5
    assert "rows delivered" in err
    assert "no packet lost" in err
    assert "lifetime (days)" in err


def test_the_motes_sense_what_the_log_has(run, field: Path) -> None:
    (field / "river.csv").write_text("time,id,rain,depth\n0,5,1,11\n900,5,1,12\n900,9,2,13\n1800,6,1,14\n")
    options = ("--buffering-factor", "3", "--for", "45 MINUTES", "--json")
    code, out, _ = run("--data", str(field), "--network", TOPOLOGY, *options, DEPTHS)
    assert code == 0
    *rows, report = map(json.loads, out.splitlines())
    assert [row["tick"] for row in rows] == sorted(row["tick"] for row in rows)
    assert sorted((row["tick"], row["id"], row["depth"]) for row in rows) == [
        ("1970-01-01T00:00:00Z", 5, 11),
        ("1970-01-01T00:15:00Z", 5, 12),
        ("1970-01-01T00:15:00Z", 9, 13),
        ("1970-01-01T00:30:00Z", 6, 14),
    ]
    assert report["simulation"]["rows"] == 4


def test_what_the_log_lacks_is_told(run, field: Path) -> None:
    (field / "river.csv").write_text("time,id,rain,depth\n0,5,1,11\n900,5,1,12\n900,9,2,13\n1800,6,1,14\n")
    code, _, err = run("--data", str(field), "--network", TOPOLOGY, "--for", "1d", DEPTHS)
    assert code == 0
    assert "there are no readings of 'river' from '7'" in err
    assert "the readings of 'river' end after 0.03 of 1.00 days" in err


def test_a_log_out_of_order_is_sensed_from_its_earliest_reading_on(run, field: Path) -> None:
    """But not from one that is late: clocks that were reset say 1970."""
    (field / "schema.sql").write_text(SCHEMA.replace("MINUTES;", "MINUTES DELAY 1 HOUR;", 1))
    lines = [f"{seconds},5,1,{depth}" for depth, seconds in enumerate((91800, 90000, 90900, 0, 92700))]
    (field / "river.csv").write_text("\n".join(["time,id,rain,depth", *lines]))
    options = ("--buffering-factor", "4", "--for", "1 HOUR", "--json")
    code, out, _ = run("--data", str(field), "--network", TOPOLOGY, *options, DEPTHS)
    assert code == 0
    *rows, _report = map(json.loads, out.splitlines())
    assert [row["depth"] for row in rows] == [1, 2, 0, 4]


def test_what_is_odd_about_the_data_is_told(run, field: Path) -> None:
    options = ("--data", str(field), "--network", TOPOLOGY, "--buffering-factor", "1", "--for", "1 HOUR")
    code, _, err = run(*options, "--seed", "3", DEPTHS)
    assert code == 0
    assert "there are no readings of 'river': they are made up, from seed 3" in err
    (field / "river.csv").write_text("time,id,rain,depth\n0,5,1,11\n900,5,x,12\n900,77,2,13\n3599,6,1,14\n")
    code, _, err = run(*options, DEPTHS)
    assert code == 0
    assert "garbled in river: river.csv, line 3: rain is 'x', not an INT" in err
    assert "readings of 'river' from '77' are left out: no node of that id senses it" in err
    assert "made up" not in err


def test_ticks_are_those_of_the_acquisition_interval_that_is_asked_for(run, field: Path) -> None:
    lines = [f"{900 * number},5,1,{number}" for number in range(1, 12)]
    (field / "river.csv").write_text("\n".join(["time,id,rain,depth", *lines]))
    options = ("--acquisition-interval", "1 HOUR", "--buffering-factor", "1", "--for", "3 HOURS", "--json")
    code, out, _ = run("--data", str(field), "--network", TOPOLOGY, *options, DEPTHS)
    assert code == 0
    *rows, _report = map(json.loads, out.splitlines())
    assert [(row["tick"][11:16], row["depth"]) for row in rows] == [("00:00", 1), ("01:00", 4), ("02:00", 8)]


def test_a_stream_without_readings_beside_one_that_has_some(run, field: Path) -> None:
    (field / "river.csv").write_text("time,id,rain,depth\n0,5,1,11\n")
    query = "SELECT r.depth FROM River[NOW] r, Hilltop[NOW] h WHERE r.rain < h.rain"
    code, out, err = run("--data", str(field), "--network", TOPOLOGY, query)
    assert code == 1
    assert "there are no readings of 'hilltop', but there are of 'river'" in err
    assert out == ""


def test_readings_of_other_nodes(run, field: Path) -> None:
    (field / "river.csv").write_text("time,id,rain,depth\n0,55,1,11\n")
    code, _, err = run("--data", str(field), "--network", TOPOLOGY, DEPTHS)
    assert code == 1
    assert "no reading of 'river' is of a node that senses it" in err
    assert "the readings are of '55'" in err


def test_a_death_is_reported_with_what_was_chosen_and_why(run, field: Path) -> None:
    options = ("--for", "6d", "--kill", "3@2d", "--loss", "--retries", "1", "--drift", "20", "--limit", "0")
    code, out, err = run("--data", str(field), "--network", TOPOLOGY, *options, DEPTHS)
    assert code == 0
    assert out == ""
    assert "node 3 was killed after 2.000 days" in err
    assert "repaired 3 after" in err
    assert ": partial, which tells least" in err
    assert "nobody stands in for node 3" in err
    code, out, _ = run("--data", str(field), "--network", TOPOLOGY, *options, "--json", DEPTHS)
    report = json.loads(out.splitlines()[-1])["simulation"]
    assert report["deaths"] == [{"node": 3, "after": 172800.0, "reason": "killed"}]
    assert [repair["strategy"] for repair in report["repairs"][0]["weighed"]] == [
        "local",
        "partial",
        "global",
    ]
    code, _, err = run("--data", str(field), "--network", TOPOLOGY, *options, "--repair", "global", DEPTHS)
    assert ": global, as it was asked for" in err


def test_what_was_sent_again_is_told(run, field: Path) -> None:
    """The network's retries, and those of the option, which wins."""
    poor = (field / "poor.toml").absolute()
    text = Path(TOPOLOGY).read_text().replace("[network]", "[network]\nretries = 2")
    assert "retries = 2" in text
    poor.write_text(text.replace("[[links]]", "[[links]]\nquality = 0.7"))
    options = ("--for", "2d", "--loss", "--limit", "0", "--data", str(field), "--network", str(poor))
    code, _, err = run(*options, DEPTHS)
    assert code == 0
    assert "packets sent again" in err
    assert "duplicates dropped" in err
    code, out, _ = run(*options, "--retries", "0", "--json", DEPTHS)
    report = json.loads(out.splitlines()[-1])["simulation"]
    assert report["acknowledgements"] == report["duplicates"] == 0
    assert report["lost_by_reason"]["link"] == report["packets_lost"] > 0


def test_pictures(run, field: Path) -> None:
    options = ("--for", "1d", "--kill", "3@6h", "--limit", "0", "--plot", str(field / "pictures"))
    code, _, _ = run("--data", str(field), "--network", TOPOLOGY, *options, DEPTHS)
    assert code == 0
    drawn = {path.name: path.read_text()[:400] for path in (field / "pictures").iterdir()}
    assert set(drawn) == {
        "routing.svg",
        "agenda.svg",
        "energy.svg",
        "simulated-energy.svg",
        "repaired-routing.svg",
    }
    assert all("<svg" in text for text in drawn.values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--for", "a while"), "--for is a length of time"),
        (("--for", "99999999999999d"), "longer than time itself"),
        (("--kill", "3@soon"), "the time of '3@soon' is a length of time"),
        (("--drift", "100000"), "no clock drifts by 100000 ppm"),
        (("--drift", "-1"), "no clock drifts by -1 ppm"),
        (
            ("--drift", "5000", "--acquisition-interval", "20s", "--delivery-time", "1d"),
            "listen for longer than",
        ),
        (("--drift", "50", "--guard", "1h"), "the guard is 3600 s"),
        (("--guard", "5ms"), "--guard without --drift"),
        (("--kill", "3@1d", "--kill", "3@2d"), "node 3 is killed twice"),
        (("--acquisition-interval", ".."), "is a length of time, or a range"),
        (("--plot", "/dev/null/pictures"), "--plot: cannot write into"),
        (("--retries", "9"), "impossible number of retries"),
        (("--kill", "0@1d"), "the sink cannot be killed"),
        (("--kill", "3"), "does not say which node dies, and when"),
        (("--kill", "77@1d"), "has no node 77"),
        (("--repair", "hope"), "no repair 'hope'"),
    ],
)
def test_refusals(run, field: Path, options: tuple[str, ...], said: str) -> None:
    code, _, err = run("--data", str(field), "--network", TOPOLOGY, *options, DEPTHS)
    assert code == 1
    assert said in err
    assert "hint:" in err


def test_any_whole_number_is_a_seed(run, field: Path) -> None:
    options = ("--data", str(field), "--network", TOPOLOGY, "--for", "1d", "--loss", "--drift", "20")
    for seed in ("-1", "9" * 30):
        assert run(*options, "--seed", seed, DEPTHS)[0] == 0


def test_drift_that_motes_have_is_taken(run, field: Path) -> None:
    options = ("--drift", "100", "--guard", "1m", "--for", "1h30m", "--limit", "1", "--kill", "3@2d")
    code, out, err = run("--data", str(field), "--network", TOPOLOGY, *options, DEPTHS)
    assert code == 0
    assert len(out.splitlines()) == 3
    assert "--kill 3@2d is after the end of the run" in err


def test_a_path_that_fails_later_is_no_bug_of_ours(run, field: Path) -> None:
    pictures = field / "pictures"
    (pictures / "routing.svg").mkdir(parents=True)
    options = ("--for", "1h", "--limit", "0", "--plot", str(pictures))
    code, _, err = run("--data", str(field), "--network", TOPOLOGY, *options, DEPTHS)
    assert code == 1
    assert f"cannot use '{pictures / 'routing.svg'}'" in err
    assert "bug" not in err


MEADOW = str(Path(__file__).parents[2] / "examples" / "meadow")
ALIKE = "SELECT time, id, arity FROM SIMILAR(air, haze) [RANGE 3 MINUTES]"


def test_similar_runs_over_clusters(run, tmp_path: Path) -> None:
    options = ("--clusters", "10%", "--for", "8m", "--json", "--plot", str(tmp_path))
    code, out, err = run("--data", MEADOW, *options, ALIKE)
    assert code == 0, err
    *rows, report = map(json.loads, out.splitlines())
    told = report["simulation"]
    assert len(rows) == told["rows"] > 100
    assert told["compared"] == {
        "host": "reference evaluator",
        "rows": len(rows),
        "missing": 0,
        "surplus": 0,
        "equal": True,
    }
    assert told["probes"]["recall"] == 1.0
    assert told["lost"] == dict.fromkeys(told["lost"], 0)
    assert (tmp_path / "clusters.svg").read_text().startswith("<?xml")


def test_options_of_clusters_that_mean_nothing_are_refused(run) -> None:
    for options, told in (
        (("--clusters", "0%"), "--clusters 0%: neither a share of the area nor a range"),
        (("--clusters", "many"), "--clusters many: neither a share of the area nor a range"),
        (("--feedback",), "--feedback and --recluster are about clusters"),
        (("--clusters", "10%", "--drift", "50"), "--drift with --clusters"),
        (("--clusters", "10%", "--kill", "0@3m"), "the sink cannot be killed"),
    ):
        code, _, err = run("--data", MEADOW, *options, ALIKE)
        assert code != 0
        assert told in err
