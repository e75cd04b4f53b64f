"""The curl lines of docs/http.md do what the page says, and its table of routes is complete."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from server.serving import served
from server.test_security import ROLES

PAGE = Path(__file__).parents[2] / "docs" / "http.md"


def run(page: Path, folder: Path) -> str:
    """Run the commands of a page against a server of its own. Returns what they printed."""
    block = re.search(r"<!-- curl: begin -->\n```sh\n(.*?)```\n<!-- curl: end -->", page.read_text(), re.S)
    assert block is not None
    script = "set -e\n" + block[1].replace("curl -sS", "curl -sS --fail-with-body")
    with served(folder, "") as server:
        done = subprocess.run(
            ["bash", "-c", script],
            capture_output=True,
            text=True,
            env={**os.environ, "URL": server.address},
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_commands_of_the_page(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    said = run(PAGE, tmp_path)
    assert '"told":"smoky begins"' in said
    assert '"received":2,"garbled":0' in said
    assert "event: schema" in said
    assert '"id": "a2", "pm25": 50.5' in said
    assert "time,id,pm25\n2026-03-01T06:01:00Z,a1,41.0\n" in said
    assert "SP_ACQUIRE" in said
    assert 'nilometer_rows_in_total{stream="air"} 3' in said


def test_the_commands_of_the_page_on_sensorthings(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    said = run(PAGE.with_name("sensorthings.md"), tmp_path)
    assert '"@iot.id": "air:pm25:a1"' in said
    assert '"name": "air pm25 a1", "Observations": [{"@iot.id": "air:pm25:0"' in said
    assert "/v1.1/Observations('air:pm25:1')" in said
    assert '"dataArray@iot.count": 3' in said
    assert '{"id": "3", "status": 200, "body": {"name": "buoy"}}' in said
    assert '{"thing": "hut", "property": "Temperature", "mean": 5.5}' in said


def test_the_table_of_routes_is_complete() -> None:
    table = PAGE.read_text().partition("## Routes")[2]
    for _, path in ROLES:
        last = path.replace("{name}", "NAME").replace("{path:path}", "PATH").rpartition("/")[2]
        assert last in table or path in ("/docs", "/openapi.json"), path
