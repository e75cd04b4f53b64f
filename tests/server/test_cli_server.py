"""`--server URL`: the command line over HTTP says what it says of a directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from nilometer.cli.main import application
from nilometer.server.settings import HttpSettings
from nilometer.server.tokens import Role, Tokens
from server.serving import AIR, Caller, minute, served


def test_every_verb(tmp_path: Path) -> None:
    tmp_path.joinpath("schema.sql").write_text(AIR)
    admin = Tokens(tmp_path).create("root", Role.ADMIN)
    reader = Tokens(tmp_path).create("eye", Role.READ)
    with served(tmp_path, settings=HttpSettings("0.0.0.0", 0)) as server:
        place = ["--server", f"http://127.0.0.1:{server.port}"]

        def run(*words: str, token: str | None = admin, code: int = 0) -> Any:
            known = {"NILOMETER_TOKEN": token} if token else {}
            found = CliRunner().invoke(application, [*words, *place], env=known)
            assert found.exit_code == code, (found.output, found.exception)
            return found

        assert (
            "begins"
            in run("execute", "CREATE QUERY high AS SELECT time, id, pm25 FROM air WHERE pm25 > 1").output
        )
        caller = Caller(server.port, {"Authorization": f"Bearer {admin}"})
        caller.send("air", [minute(0, "a1", 1.0), minute(1, "a1", 2.0), minute(2, "a2", 3.0)])
        caller.close()
        rows = run("query", "SELECT id, MAX(pm25) AS top FROM air GROUP BY id", "--json").stdout.splitlines()
        assert [json.loads(row) for row in rows] == [{"id": "a1", "top": 2.0}, {"id": "a2", "top": 3.0}]
        assert "a2" in run("query", "SELECT id FROM air", token=reader).stdout
        (listed,) = [json.loads(row) for row in run("streams", "--json").stdout.splitlines()]
        assert listed["name"] == "air"
        assert json.loads(run("streams", "--ledger", "--json").stdout)["appended"] == 3
        heard = run("sensors", "--stream", "AIR", "--json").stdout.splitlines()
        assert [json.loads(row)["id"] for row in heard] == ["a1", "a2"]
        assert "high" in run("queries").stdout
        (version,) = [
            json.loads(row) for row in run("queries", "versions", "high", "--json").stdout.splitlines()
        ]
        assert (version["current"], version["offsets"]) == (True, {"air": 0})
        assert "air@0" in run("queries", "versions", "high").stdout
        followed = run("answers", "high", "--follow", "--limit", "2", "--json").stdout
        assert [json.loads(row)["pm25"] for row in followed.splitlines()] == [2.0, 3.0]
        assert "2.0" in run("answers", "high", "--limit", "1").stdout
        assert "ACQUIRE" in run("explain", "SELECT id FROM air").stdout
        shell = run("sql", "-c", "SELECT COUNT(*) AS n FROM air; SHOW QUERIES")
        assert "high" in shell.stdout
        refused = run("execute", "DROP QUERY high", token=reader, code=1)
        assert "needs the role 'admin'" in str(refused.exception)
        unknown = run("query", "SELECT pm FROM air", code=1)
        assert "pm25" in str(unknown.exception), "the error has its hint"
        assert "two places" in str(run("query", "SELECT 1", "--data", str(tmp_path), code=1).exception)
        run("streams", token=None, code=1)
