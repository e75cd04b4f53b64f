"""`nilometer compile`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nilometer.cli.main import application

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
