"""`nilometer compile`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from nilometer.cli.main import application
from nilometer.errors import ConfigurationError, UnsupportedError

BROOK = Path(__file__).parents[1] / "catalog" / "data" / "snee.toml"
SCHEMA = "CREATE STREAM River (depth INT) SENSED EVERY 10 SECONDS;"


@pytest.mark.motes
@pytest.mark.slow
def test_a_query_becomes_programs_that_run(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA, "utf-8")
    to = tmp_path / "motes"
    arguments = [
        "compile",
        "--data",
        str(tmp_path),
        "--network",
        str(BROOK),
        "--to",
        str(to),
        "--nesc",
        "--emulate",
        "--json",
    ]
    arguments += [
        "--buffering-factor",
        "2",
        "--periods",
        "1",
        "SELECT MAX(depth) AS deepest FROM River [NOW]",
    ]
    done = CliRunner().invoke(application, arguments)
    assert done.exit_code == 0, done.output
    table, *rows = (json.loads(text) for text in done.stdout.splitlines())
    assert table["sound"]
    sites = {row["site"] for row in table["sites"]}
    assert len(rows) == 2
    assert {5, 6, 7, 9, 0} <= sites
    for site in sites:
        assert (to / f"site_{site}.c").exists()
        assert (to / f"site_{site}.elf").exists()
        assert (to / f"nesc_{site}" / "QueryAppC.nc").exists()
    assert "equal to the reference" in done.stderr


@pytest.mark.motes
@pytest.mark.slow
def test_packets_are_acknowledged_where_the_network_says_retries(tmp_path: Path) -> None:
    again = tmp_path / "again.toml"
    again.write_text(BROOK.read_text("utf-8").replace("[network]", "[network]\nretries = 3"), "utf-8")
    query = "SELECT MAX(depth) AS deepest FROM River [NOW]"
    for options in (["--network", str(again)], ["--retries", "2"]):
        done = emulated(tmp_path, query, "--json", *options)
        assert done.exit_code == 0, done.output
        sites = json.loads(done.stdout.splitlines()[0])["sites"]
        assert all(site["sendings"] == site["packets"] for site in sites)
        assert sum(site["taken"] for site in sites) == sum(site["packets"] for site in sites) > 0
        assert "equal to the reference" in done.stderr
    assert "sendings" not in emulated(tmp_path, query, "--json").stdout


@pytest.mark.motes
@pytest.mark.slow
def test_links_that_lose_packets(tmp_path: Path) -> None:
    lossy = tmp_path / "lossy.toml"
    lossy.write_text(
        "sink = 0\nnodes = [{ id = 0 }, { id = 1 }, { id = 2, streams = ['River'] }]\n"
        "links = [{ source = 1, target = 0, quality = 0.6 }, { source = 2, target = 1, quality = 0.6 }]\n",
        "utf-8",
    )
    options = ["--network", str(lossy), "--loss", "--periods", "12", "--seed", "2", "--json"]
    query = "SELECT depth FROM River [NOW]"
    done = emulated(tmp_path, query, *options)
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout.splitlines()[0])
    assert table["sound"]
    assert table["expected"] == 24 > table["arrived"] == table["compared"]
    # Two evaluations a packet; after one that was lost, the relay sends one that is empty, and may be lost too.
    assert table["lost"] >= (24 - table["arrived"]) // 2 > 0
    assert f"{table['lost']} packets were lost for good" in done.stderr
    assert "equal" not in done.stderr
    done = emulated(tmp_path, query, *options, "--retries", "7")
    assert json.loads(done.stdout.splitlines()[0])["lost"] == 0
    assert "24 rows, equal to the reference" in done.stderr
    assert emulated(tmp_path, query, *options).stdout == emulated(tmp_path, query, *options).stdout


@pytest.mark.motes
@pytest.mark.slow
def test_clocks_that_drift(tmp_path: Path) -> None:
    query = "SELECT depth FROM River [NOW]"
    done = emulated(tmp_path, query, "--drift", "40", "--retries", "1", "--periods", "4", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[0])["sound"]
    assert "equal to the reference" in done.stderr
    done = emulated(tmp_path, query, "--drift", "40")
    assert isinstance(done.exception, UnsupportedError)
    assert "--retries 1" in str(done.exception)


@pytest.mark.motes
@pytest.mark.slow
def test_motes_that_wait_for_the_start(tmp_path: Path) -> None:
    query = "SELECT depth FROM River [NOW]"
    for options in ([], ["--apart", "7.5"], ["--apart", "20", "--drift", "40", "--retries", "1"]):
        done = emulated(tmp_path, query, "--wait-for-start", "--json", *options)
        assert done.exit_code == 0, done.output
        head = json.loads(done.stdout.splitlines()[0])
        assert head["sound"]
        assert head["untold"] == []
        assert "equal to the reference" in done.stderr
    once = emulated(tmp_path, query, "--wait-for-start", "--apart", "7.5").stdout
    assert once == emulated(tmp_path, query, "--wait-for-start", "--apart", "7.5").stdout


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--emulate", "--apart", "5"], "--apart without --wait-for-start"),
        (["--wait-for-start", "--apart", "5"], "--apart without --emulate"),
        (["--wait-for-start", "--nesc"], "the nesC form counts from its reset"),
    ],
)
def test_starts_that_cannot_be_are_refused(options: list[str], reason: str, tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA, "utf-8")
    where = ["--data", str(tmp_path), "--network", str(BROOK), "--to", str(tmp_path / "motes")]
    done = CliRunner().invoke(application, ["compile", *where, *options, "SELECT depth FROM River [NOW]"])
    assert isinstance(done.exception, ConfigurationError | UnsupportedError)
    assert reason in str(done.exception)
    assert not (tmp_path / "motes").exists()


def test_losses_without_a_run_are_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA, "utf-8")
    where = ["--data", str(tmp_path), "--network", str(BROOK)]
    done = CliRunner().invoke(application, ["compile", *where, "--loss", "SELECT depth FROM River [NOW]"])
    assert isinstance(done.exception, ConfigurationError)


@pytest.mark.motes
@pytest.mark.slow
def test_nesc_has_no_acknowledgements(tmp_path: Path) -> None:
    done = emulated(tmp_path, "SELECT MAX(depth) AS deepest FROM River [NOW]", "--nesc", "--retries", "3")
    assert isinstance(done.exception, UnsupportedError)
    assert "retries = 3" in str(done.exception)
    assert not (tmp_path / "motes").exists()


@pytest.mark.motes
@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT depth FROM River [NOW] WHERE depth > 1000", "no reading met the query's conditions"),
        (
            "SELECT depth FROM River [RANGE 4 ROWS SLIDE 20 ROWS]",
            "the first window closes after 5 evaluations, and 2 were run: run at least 3 periods",
        ),
        (
            "SELECT depth FROM River [AT NOW - 30 SECONDS]",
            "the first window closes after 4 evaluations, and 2 were run: run at least 2 periods",
        ),
    ],
)
def test_nothing_compared_is_said_to_be_nothing(query: str, reason: str, tmp_path: Path) -> None:
    done = emulated(tmp_path, query, "--periods", "1", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["compared"] == 0
    assert "NOTHING WAS COMPARED" in done.stderr
    assert reason in " ".join(done.stderr.split())
    assert "equal" not in done.stderr


def test_what_cannot_be_emulated_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    pushed = "CREATE STREAM Wells (level INT) PUSHED FROM 'mqtt://localhost/wells' EXPECT EVERY 1 MINUTE;"
    done = emulated(tmp_path, "SELECT depth, level FROM River [NOW], Wells [NOW]", schema=SCHEMA + pushed)
    assert isinstance(done.exception, UnsupportedError)
    assert "Wells is not sensed in the network" in str(done.exception)
    assert not (tmp_path / "motes").exists()


@pytest.mark.motes
@pytest.mark.slow
def test_what_is_left_to_the_gateway_is_said(tmp_path: Path) -> None:
    done = emulated(tmp_path, "SELECT MEDIAN(depth) AS m FROM River [NOW]")
    assert done.exit_code == 0, done.output
    assert "AGGR is the gateway's: motes have no AGGR" in done.stderr
    assert "4 rows, equal to the reference evaluator's" in done.stderr


def emulated(directory: Path, query: str, *options: str, schema: str = SCHEMA) -> Result:
    """`nilometer compile --emulate`, two evaluations a period."""
    (directory / "schema.sql").write_text(schema, "utf-8")
    where = ["--data", str(directory), "--network", str(BROOK), "--to", str(directory / "motes")]
    arguments = ["compile", *where, "--emulate", "--buffering-factor", "2", *options, query]
    return CliRunner().invoke(application, arguments)


@pytest.mark.motes
@pytest.mark.slow
def test_recorded_readings_run_too(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA, "utf-8")
    lines = ["time,id,depth"]
    for tick in range(5):
        lines += [
            f"2026-03-01T12:00:{tick * 10 + 3:02d}Z,{site},{100 * tick + site}" for site in (5, 6, 7, 9, 11)
        ]
    (tmp_path / "river.csv").write_text("\n".join(lines), "utf-8")
    arguments = [
        "compile",
        "--data",
        str(tmp_path),
        "--network",
        str(BROOK),
        "--to",
        str(tmp_path / "motes"),
        "--emulate",
    ]
    arguments += [
        "--recorded",
        "--json",
        "--buffering-factor",
        "2",
        "SELECT id, depth FROM River [NOW] WHERE depth > 300",
    ]
    done = CliRunner().invoke(application, arguments)
    assert done.exit_code == 0, done.output
    rows = [json.loads(text) for text in done.stdout.splitlines()[1:]]
    assert [(row["tick"], row["id"], row["depth"]) for row in rows] == [
        ("2026-03-01T12:00:30Z", site, 300 + site) for site in (5, 6, 7, 9)
    ]
    assert "readings of 'river' from '11' are left out: no node of that id senses it" in done.stderr


@pytest.mark.motes
@pytest.mark.slow
def test_recorded_readings_with_gaps_and_their_own_scale(tmp_path: Path) -> None:
    """A missing reading, a NULL and values off the converter's scale: held, counted, and put on a scale that is told."""
    (tmp_path / "schema.sql").write_text(SCHEMA, "utf-8")
    lines = ["time,id,depth"]
    for tick in range(6):
        for site in (5, 6, 7, 9):
            if (tick, site) in ((0, 9), (3, 7)):
                continue
            depth = "" if (tick, site) == (4, 6) else -2000 + 700 * tick + site
            lines.append(f"2026-03-01T12:00:{tick * 10 + 3:02d}Z,{site},{depth}")
    (tmp_path / "river.csv").write_text("\n".join(lines), "utf-8")
    arguments = ["compile", "--data", str(tmp_path), "--network", str(BROOK), "--to", str(tmp_path / "motes")]
    arguments += ["--emulate", "--recorded", "--json", "--buffering-factor", "2"]
    done = CliRunner().invoke(application, [*arguments, "SELECT id, depth FROM River [NOW]"])
    assert done.exit_code == 0, done.output
    rows = [json.loads(text) for text in done.stdout.splitlines()[1:]]
    found = {(row["tick"][17:19], row["id"]): row["depth"] for row in rows}
    assert len(found) == len(rows) == 4 * 4  # from the second tick on, when all have begun; two periods
    assert found["30", 7] == found["20", 7]
    assert found["40", 6] == found["30", 6]
    assert all(abs(found[f"{tick}0", 5] - (-2000 + 700 * tick + 5)) < 4 for tick in (1, 2, 3, 4))
    assert "2 of 16 values were missing" in done.stderr
    assert "river.depth is sensed in steps of 4 from -1296 on" in done.stderr


@pytest.mark.motes
def test_nodes_that_recorded_nothing_are_named_together(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA, "utf-8")
    lines = ["time,id,depth", "2026-03-01T12:00:03Z,5,7", "2026-03-01T12:00:03Z,6,8"]
    (tmp_path / "river.csv").write_text("\n".join(lines), "utf-8")
    arguments = ["compile", "--data", str(tmp_path), "--network", str(BROOK), "--to", str(tmp_path / "motes")]
    done = CliRunner().invoke(
        application, [*arguments, "--emulate", "--recorded", "SELECT depth FROM River [NOW]"]
    )
    assert done.exit_code == 1
    assert str(done.exception).startswith("there are no readings of 'River' from '7' and '9'")


@pytest.mark.motes
def test_programs_of_an_earlier_query_are_gone(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA, "utf-8")
    arguments = ["compile", "--data", str(tmp_path), "--network", str(BROOK), "--to", str(tmp_path / "motes")]
    arguments.append("--nesc")
    assert CliRunner().invoke(application, [*arguments, "SELECT depth FROM River [NOW]"]).exit_code == 0
    assert (tmp_path / "motes" / "site_9.elf").exists()
    assert (tmp_path / "motes" / "nesc_9" / "QueryAppC.nc").exists()
    (tmp_path / "motes" / "nesc_7" / "notes.txt").write_text("somebody's own\n", "utf-8")
    (tmp_path / "motes" / "site_map.c").write_text("/* somebody's own */\n", "utf-8")
    done = CliRunner().invoke(application, [*arguments, "SELECT depth FROM River [NOW] WHERE id = 5"])
    assert done.exit_code == 0, done.output
    assert not list((tmp_path / "motes").glob("site_9.*"))
    assert not (tmp_path / "motes" / "nesc_9").exists()
    assert [file.name for file in (tmp_path / "motes" / "nesc_7").iterdir()] == ["notes.txt"]
    assert (tmp_path / "motes" / "site_5.elf").exists()
    assert (tmp_path / "motes" / "site_map.c").exists()
