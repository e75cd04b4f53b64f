"""A PostgreSQL server for one test run: a new cluster in a temporary directory, gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The directory of `initdb` and `pg_ctl`; Debian keeps it off the PATH."""
    on_path = shutil.which("pg_ctl")
    candidates = [Path(on_path).parent] if on_path else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((path for path in candidates if (path / "initdb").exists()), None)


@contextmanager
def running() -> Iterator[str]:
    """Start a server; give the URL of its database; stop it."""
    bin_directory = programs()
    assert bin_directory, "PostgreSQL is not installed"
    with tempfile.TemporaryDirectory(prefix="nilometer-postgres-") as directory:
        user = None
        if os.geteuid() == 0:  # the server refuses to run as root
            user = "postgres"
            shutil.chown(directory, user)
        yield from serve(bin_directory, Path(directory), user)


def serve(bin_directory: Path, directory: Path, user: str | None) -> Iterator[str]:
    data = directory / "data"

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [bin_directory / program, "-D", data, *arguments],
            user=user,
            group=user,
            extra_groups=[] if user else None,
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
        )

    port = free_port()
    run("initdb", "--username=nilometer", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    run("pg_ctl", "start", "--wait", "--silent", f"--options={options}", f"--log={directory / 'log'}")
    try:
        yield f"postgresql+psycopg://nilometer@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "stop", "--wait", "--silent", "--mode=immediate")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
