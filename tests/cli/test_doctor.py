"""The doctor finds what a test has broken, says how to mend it, and finds nothing in what is well."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nilometer.cli.main import application

SCHEMA = "CREATE STREAM air (id STRING, pm25 FLOAT) PUSHED FROM 'mqtt://me:secret@127.0.0.1:{port}/air/+';\n"


def findings(*words: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(application, ["doctor", "--json", *words])
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert "secret" not in done.output
    return done.exit_code, {one["check"]: one for one in found}


@pytest.fixture
def listening() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_directory_that_is_well(tmp_path: Path, listening: int) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA.format(port=listening))
    code, found = findings("--data", str(tmp_path))
    assert code == 0, found
    assert {
        "python",
        "java",
        "disk",
        "fsync",
        "rights",
        "owner",
        "descriptors",
        "memory",
        "host",
    } <= found.keys()
    assert found["host"]["found"] == f"mqtt://me:***@127.0.0.1:{listening}/air/+ can be reached"


def test_what_is_broken_is_found(tmp_path: Path, listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.delenv("NILOMETER_SMTP", raising=False)
    (tmp_path / "schema.sql").write_text(
        SCHEMA.format(port=1)
        + "CREATE ALERT smoky WHEN (SELECT time, id, pm25 FROM air) THEN 'mailto:me@example.org';\n"
    )
    (tmp_path / ".nilometer").mkdir(mode=0o755)
    code, found = findings("--data", str(tmp_path), "--http", f"127.0.0.1:{listening}")
    assert code == 1
    wrong = {name: one["found"] for name, one in found.items() if one["state"] != "ok"}
    assert "JAVA_HOME" in wrong["java"]
    assert "cannot be reached" in wrong["host"]
    assert "no server is set" in wrong["mail"]
    assert "open to other users" in wrong["rights"]
    assert "in use" in wrong["port"].lower()
    assert all(found[name]["mend"] for name in ("java", "host", "mail", "rights", "port"))


def test_a_schema_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE A STREAM")
    code, found = findings("--data", str(tmp_path))
    assert code == 1
    assert found["declarations"]["state"] == "wrong"
    code, found = findings("--data", str(tmp_path / "nowhere"))
    assert (code, found["directory"]["state"]) == (1, "wrong")
