"""A Mosquitto for one test: its own loopback port, configuration and persistence, gone afterwards."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60.0

CONFIGURATION = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {directory}/
{saving}
max_queued_messages 0
log_dest stderr
log_type notice
log_type information
log_type error
log_type warning
"""
ALWAYS = "autosave_interval 1\nautosave_on_changes true"
"""Every change is saved, so that a broker killed with -9 forgets nothing; by default it saves twice an hour. It writes everything
each time: with thousands of messages it falls behind."""
WHEN_ASKED = "autosave_interval 0"
"""It saves when `save` asks for it."""


def program() -> str | None:
    """The broker; Debian keeps it off a user's PATH."""
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


class Broker:
    """A broker that can be killed and started again on the same port, with what it saved."""

    def __init__(self, directory: Path, saving: str = ALWAYS) -> None:
        self.directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[str] | None = None
        self._listener: threading.Thread | None = None
        configuration = CONFIGURATION.format(port=self.port, directory=directory, saving=saving)
        if os.geteuid() == 0:  # as root it would become the user mosquitto, who may not write here
            configuration += "user root\n"
        (directory / "mosquitto.conf").write_text(configuration)

    @property
    def url(self) -> str:
        """For adapters: add the topic."""
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and return when it listens."""
        executable = program()
        assert executable, "Mosquitto is not installed"
        command = [executable, "-c", str(self.directory / "mosquitto.conf")]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.directory
        )
        # "running" is the last thing it says before it serves; a broker that ends says why.
        said = []
        assert self._process.stdout is not None
        watchdog = threading.Timer(PATIENCE, self._process.kill)
        watchdog.start()
        for line in self._process.stdout:
            said.append(line)
            if "running" in line:
                watchdog.cancel()
                self._listener = threading.Thread(target=self._process.stdout.read, daemon=True)
                self._listener.start()
                return
        raise AssertionError(f"Mosquitto did not start: {''.join(said)}")

    def save(self) -> None:
        """Let it write everything down, before it turns to the packets that come from now on."""
        assert self._process is not None, "it is not running"
        self._process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        """kill -9: no farewell, no last save."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """A clean end."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait(PATIENCE)
        assert self._listener is not None
        assert self._process.stdout is not None
        self._listener.join(PATIENCE)
        self._process.stdout.close()
        self._process = None


@contextmanager
def running(saving: str = ALWAYS) -> Iterator[Broker]:
    """A started broker; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="nilometer-mosquitto-") as directory:
        broker = Broker(Path(directory), saving)
        broker.start()
        try:
            yield broker
        finally:
            broker.kill()


def free_port() -> int:
    """A loopback port that nobody has, below those that outgoing connections are given: a client that tries again while the broker is
    down may otherwise be given the broker's own port, and connect to itself."""
    first = random.SystemRandom().randrange(12_000)
    for number in range(12_000):
        port = 20_000 + (first + number) % 12_000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")
