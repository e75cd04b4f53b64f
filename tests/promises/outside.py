"""What the tests from outside share: a schema, files of readings, the command line in process and as a process."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nilometer.engine import connect
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogSettings

Run = Callable[..., tuple[int, str, str]]
Seen = Callable[[str], None]
COUNTS = "SELECT id, COUNT(*) AS n FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY id"
PATIENCE = 60.0
NILOMETER = [
    sys.executable,
    "-P",
    "-c",
    "from atexit import register; from resource import RUSAGE_SELF, getrusage; import sys;"
    "register(lambda: print(getrusage(RUSAGE_SELF).ru_maxrss // 1024, 'MB', file=sys.stderr));"
    "from nilometer.cli.main import main; main()",
]
"""The command line as a process, which tells at its end the most memory that it had."""


def feed(folder: Path, first: int, minutes: int, value: str = "1.0") -> None:
    """Another file of readings: two sensors, a reading a minute."""
    (folder / "in").mkdir(exist_ok=True)
    lines = [
        f"2026-03-01T{6 + minute // 60:02}:{minute % 60:02}:00Z,{sensor},{value}\n"
        for minute in range(first, first + minutes)
        for sensor in (1, 2)
    ]
    (folder / "in" / f"{first:06d}.csv").write_text("time,id,x\n" + "".join(lines))


def declare(
    folder: Path, options: str = "", query: str = COUNTS, type_: str = "FLOAT", batch: int = 10
) -> None:
    """A stream from a folder of files, and a standing query."""
    (folder / "schema.sql").write_text(
        f"CREATE STREAM air (x {type_}) PUSHED FROM 'directory://{folder}/in?batch={batch}' {options};\n"
        f"CREATE QUERY counts STARTING AT BEGINNING AS {query};\n"
    )


def segments(folder: Path) -> list[Path]:
    """The files of the stream's log, the oldest first."""
    return sorted((folder / ".nilometer" / "log" / "air").glob("*.segment"))


def begun_and_killed(folder: Path, segment_bytes: int = 1 << 26, *, killed: bool = True) -> None:
    """The standing query has committed what it read, and has made no checkpoint since it began, unless it ended in
    order."""
    database = connect(folder)
    station = Station(database, folder, StationSettings(logging=LogSettings(segment_bytes=segment_bytes)))
    live = station.install(database.sql(COUNTS), "counts", start=BEGINNING, durable=True)
    until = time.monotonic() + PATIENCE
    station.run(lambda: time.monotonic() > until)
    station._settle(live)
    if killed:
        station.abandon()
    else:
        station.close()


@contextmanager
def process(folder: Path, *arguments: str, files: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """`nilometer run` as a process of its own, with its messages in `said.txt`; killed at the end."""

    def limit() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [*NILOMETER, "run", "--data", str(folder), "--json", *arguments]
    with (folder / "said.txt").open("w") as errors:
        started = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=limit, bufsize=0
        )
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        if started.stdout is not None:
            started.stdout.close()


def megabytes(told: str) -> int:
    """The most memory that a process of ours had, by its last words."""
    return int(told.split()[-2]) if told.endswith(" MB\n") else 0


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def connected(port: int, running: subprocess.Popen[str]) -> socket.socket:
    """A connection, as soon as somebody listens."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), PATIENCE)
        except OSError:
            assert running.poll() is None, "the process has ended"
            assert time.monotonic() < until, "nobody listens"
