"""1,100 idle connections at `ulimit -n 1024` end nothing: readings of the sensor that comes last are answered."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from pathlib import Path

LIMIT = 1_024
IDLE = 1_100


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_idle_connections_stop_nobody(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "schema.sql").write_text(
        f"CREATE STREAM river (depth INT) PUSHED FROM 'tcp://127.0.0.1:{port}' DELAY 1 SECOND;\n"
        "CREATE QUERY deep AS SELECT id, depth FROM river WHERE depth > 3;\n"
    )
    code = "from nilometer.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", "--data", str(tmp_path), "--json"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT)),
    )
    held: list[socket.socket] = []
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("river: open"):
                break
        for number in range(IDLE):
            held.append(socket.create_connection(("127.0.0.1", port), 60))
            if number == 0:
                held[0].sendall(b'{"id": 1, "depth": 4}\n')  # a sensor that has spoken keeps its place
                assert process.stdout.readline() == '{"id": 1, "depth": 4}\n'
        held.append(socket.create_connection(("127.0.0.1", port), 60))
        held[-1].sendall(b'{"id": 2, "depth": 5}\n')
        assert process.stdout.readline() == '{"id": 2, "depth": 5}\n'
        held[0].sendall(b'{"id": 1, "depth": 6}\n')
        assert process.stdout.readline() == '{"id": 1, "depth": 6}\n'
        assert process.poll() is None
        process.terminate()
        _, said = process.communicate(timeout=60)
        assert process.returncode in (0, 1), said
        assert "river: more than 512 connections (clients=, ulimit -n)" in said
    finally:
        process.kill()
        process.communicate()
        for one in held:
            one.close()
