"""`nilometer top`: what every query does, standing or a client's, and what it shares."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from typer.testing import CliRunner

from live.owner.owners import client_of, field, write
from live.owner.test_changes import SUMS, answered, serving
from nilometer.cli.main import application
from nilometer.cli.top import _screen
from nilometer.live.owner.client import Asking

RUNNER = CliRunner()


def test_top_shows_standing_queries_and_those_of_clients(tmp_path: Path) -> None:
    queries = (
        f"CREATE QUERY sums STARTING AT BEGINNING AS {SUMS};"
        f"CREATE QUERY high STARTING AT BEGINNING AS {SUMS} HAVING SUM(x) > 10;"
        "CREATE QUERY five STARTING AT BEGINNING AS SELECT time, x FROM air WHERE x > 5;"
        "CREATE QUERY six STARTING AT BEGINNING AS SELECT time, x FROM air WHERE x > 6;\n"
    )
    database = field(tmp_path, queries)
    write(tmp_path, 0, 20)
    with serving(tmp_path):
        for name in ("sums", "high", "five", "six"):
            answered(database, name, 2)
        with client_of(database) as client:
            asking = Asking(
                "SELECT COUNT(*) AS n FROM air [RANGE 3 MINUTES SLIDE 1 MINUTE]", start="beginning"
            )
            asking.install(client)
            while not asking.rows:
                asking.fetch(client)
            found = RUNNER.invoke(application, ["top", "--once", "--json", "--data", str(tmp_path)])
            assert found.exit_code == 0, found.output
            rows = {row["query"]: row for row in map(json.loads, found.stdout.splitlines())}
            before = client.request("top").header
        assert set(rows) == {"sums", "high", "five", "six", asking.name}
        assert all(row["rows_in"] == 40 and row["late"] == 0 for row in rows.values())
        assert rows["five"]["rows_out"] == len(list(database.answers("five")))
        assert (rows["five"]["shared"], rows["six"]["shared"]) == (1, 1)  # one filter bank
        assert (rows["sums"]["shared"], rows["high"]["shared"]) == (1, 1)  # one window
        assert rows[asking.name]["kind"] == "client"
        assert rows[asking.name]["state_bytes"] > 0
        assert rows["sums"]["seconds"] > 0
        assert all(row["lag"] > 0 for row in rows.values())
        text = RUNNER.invoke(application, ["top", "--once", "--data", str(tmp_path), "--order", "name"])
        assert [line.split()[0] for line in text.stdout.splitlines()[2:]] == ["five", "high", "six", "sums"]
        later = {**before, "when": before["when"] + 2_000_000}
        console = Console(width=160)
        with console.capture() as shown:
            console.print(_screen(later, before, "cpu", 3))
        assert "in/s" in shown.get()
        wrong = RUNNER.invoke(application, ["top", "--once", "--data", str(tmp_path), "--order", "cup"])
        assert wrong.exit_code != 0


def test_nobody_runs_queries(tmp_path: Path) -> None:
    field(tmp_path)
    found = RUNNER.invoke(application, ["top", "--once", "--data", str(tmp_path)])
    assert found.exit_code != 0
    assert "nobody runs queries here" in str(found.exception)
