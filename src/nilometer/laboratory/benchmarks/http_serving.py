"""A `nilometer serve --http` of its own for benchmarks, requests to it, and what it costs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nilometer.errors import ResourceError
from nilometer.laboratory.benchmarks import http_sender

CONNECTIONS = 64


@contextmanager
def serving(folder: Path, schema: str) -> Iterator[tuple[int, int]]:
    """Serve a directory. Yields the port and the number of the process."""
    (folder / "schema.sql").write_text(schema)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-P", "-m", "nilometer.cli.main", "serve", "--data", str(folder)]
    server = subprocess.Popen([*command, "--http", str(port)], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        for line in server.stderr:
            if "HTTP at" in line:
                break
        else:
            raise ResourceError("the server did not start", hint="pip install 'nilometer[server]'")
        os.set_blocking(server.stderr.fileno(), False)
        yield port, server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def processor(process: int) -> float:
    """The seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> int:
    """The bytes of memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Sent:
    """What the sender says: seconds, its own processor time, the milliseconds of answers, the counts of statuses; and
    the processor time of the server."""

    seconds: float
    processor: float
    p50: float
    p99: float
    statuses: dict[str, int]
    server: float


def send(port: int, server: int, path: str, kind: str, bodies: Sequence[bytes]) -> Sent:
    """Send bodies from a process of its own, each acknowledged before its connection sends the next one."""
    requests = [_request(path, kind, body) for body in bodies]
    head = {"port": port, "connections": CONNECTIONS, "lengths": [len(request) for request in requests]}
    before = processor(server)
    done = subprocess.run(
        [sys.executable, "-I", "-S", http_sender.__file__],
        input=json.dumps(head).encode() + b"\n" + b"".join(requests),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise ResourceError("the sender has failed", detail=done.stderr.decode()[-500:])
    sent = Sent(**json.loads(done.stdout), server=processor(server) - before)
    strange = sent.statuses.keys() - {"200", "201", "429", "503"}
    if strange:
        raise ResourceError(f"the server answered {', '.join(sorted(strange))}")
    return sent


def _request(path: str, kind: str, body: bytes) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def get(port: int, path: str) -> Any:
    """The JSON at a path."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as reply:
        return json.load(reply)


def readings_of(stream: str) -> str:
    """Where the readings of a stream are posted."""
    return f"/api/v1/streams/{stream}/readings"
