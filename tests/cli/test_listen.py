"""`nilometer listen`: what the sink of a compiled query says, answered."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.test_compile import emulated
from nilometer.cli.main import application
from nilometer.errors import ConfigurationError, DataError
from sensornet.motes.emulated import BROOK, SCHEMA

QUERY = "SELECT id, MEDIAN(depth) AS m FROM River [NOW] GROUP BY id"


def listened(directory: Path, line: str, *options: str) -> Result:
    (directory / "schema.sql").write_text(SCHEMA, "utf-8")
    where = ["--data", str(directory), "--network", str(BROOK), "--from", line]
    arguments = ["listen", *where, "--buffering-factor", "2", "--json", *options, QUERY]
    return CliRunner().invoke(application, arguments)


@pytest.mark.motes
@pytest.mark.slow
def test_a_recorded_line_and_a_port(tmp_path: Path) -> None:
    done = emulated(tmp_path, QUERY, "--serial", str(tmp_path / "sink.bin"), "--json")
    assert done.exit_code == 0, done.output
    answers = done.stdout.splitlines()[1:]
    given = listened(tmp_path, str(tmp_path / "sink.bin"), "--start", "2026-01-01T00:00:00Z")
    assert given.exit_code == 0, given.output
    assert sorted(given.stdout.splitlines()) == sorted(answers)
    assert (
        "2 frames with 16 tuples, 0 of them late; 0 frames missing, 0 resets of the sink, 0 corrections of its clock, 0 bytes"
        in given.stderr
    )

    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall((tmp_path / "sink.bin").read_bytes())

        serving = threading.Thread(target=serve)
        serving.start()
        port = server.getsockname()[1]
        kept = tmp_path / "kept.bin"
        given = listened(tmp_path, f"tcp://127.0.0.1:{port}", "--record", str(kept))
        serving.join()
    assert kept.read_bytes() == (tmp_path / "sink.bin").read_bytes()
    values = [tuple(json.loads(line).values())[1:] for line in given.stdout.splitlines()]
    assert sorted(values) == sorted(tuple(json.loads(line).values())[1:] for line in answers)


def test_what_is_no_frame_of_the_query_is_said(tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(b"Hello, world\r\n" * 100)
    given = listened(tmp_path, str(tmp_path / "noise.bin"))
    assert given.exit_code == 0
    assert "1400 bytes came, and none of them in a frame of this query" in given.stderr


def test_lines_that_cannot_be_opened(tmp_path: Path) -> None:
    assert isinstance(listened(tmp_path, str(tmp_path / "nowhere")).exception, DataError)
    assert isinstance(listened(tmp_path, str(tmp_path)).exception, DataError)
    for address in ("tcp://localhost", "tcp://localhost:99999", "tcp://localhost:serial"):
        assert isinstance(listened(tmp_path, address).exception, ConfigurationError)


def test_a_start_that_is_no_time_is_refused(tmp_path: Path) -> None:
    given = listened(tmp_path, "-", "--start", "tomorrow")
    assert isinstance(given.exception, ConfigurationError)
    assert "'tomorrow' is no time" in str(given.exception)


def test_a_line_is_not_recorded_into_itself(tmp_path: Path) -> None:
    line = tmp_path / "line.bin"
    line.write_bytes(b"Hello, world\r\n" * 100)
    given = listened(tmp_path, str(line), "--record", str(line))
    assert isinstance(given.exception, ConfigurationError)
    assert len(line.read_bytes()) == 1400


def test_a_line_that_nothing_is_said_on_is_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA, "utf-8")
    arguments = ["compile", "--data", str(tmp_path), "--network", str(BROOK), "--serial", "sink.bin", QUERY]
    given = CliRunner().invoke(application, arguments)
    assert isinstance(given.exception, ConfigurationError)
    assert "--serial without --emulate" in str(given.exception)
