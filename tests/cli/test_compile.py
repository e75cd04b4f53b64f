"""`nilometer compile`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from nilometer.cli.main import application
from nilometer.errors import UnsupportedError

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
    done = emulated(tmp_path, "SELECT MEDIAN(depth) AS m FROM River [NOW]")
    assert isinstance(done.exception, UnsupportedError)
    assert "is left to the gateway" in str(done.exception)
    assert not (tmp_path / "motes").exists()


def emulated(directory: Path, query: str, *options: str) -> Result:
    """`nilometer compile --emulate`, two evaluations a period."""
    (directory / "schema.sql").write_text(SCHEMA, "utf-8")
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
            f"2026-03-01T12:00:{tick * 10 + 3:02d}Z,{site},{100 * tick + site}" for site in (5, 6, 7, 9)
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
