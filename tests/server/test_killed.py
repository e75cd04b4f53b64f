"""`serve --http` is killed at random moments, while one client adds readings and another follows the answers: every
acknowledged reading is there, and the follower has every row once."""

from __future__ import annotations

import http.client
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from server.serving import PATIENCE, Caller, Events, minute
from server.test_results import RESULTS, SCHEMA

TESTS = Path(__file__).parents[1]
LOST = (OSError, http.client.HTTPException)


class Nursery:
    """Servers over one directory, one after the other, at one port."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "server.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=TESTS,
        )
        self._until("ready")
        self._child = 0

    def begin(self) -> None:
        """A new life; returns when it answers."""
        assert self._process.stdin is not None
        print(f"live {self._folder} {self.port}", file=self._process.stdin, flush=True)
        self._child = int(self._until("born").split()[1])
        self._until("HTTP at")

    def kill(self) -> None:
        """The end of it, without a word."""
        os.kill(self._child, signal.SIGKILL)
        self._until("died")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _until(self, word: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if word in line:
                return line
        raise AssertionError(f"it ended before it said '{word}'")


@contextmanager
def nursing(folder: Path) -> Iterator[Nursery]:
    (folder / "schema.sql").write_text(SCHEMA)
    nursery = Nursery(folder)
    try:
        yield nursery
    finally:
        nursery.close()


def storm(folder: Path, lives: int, seed: int) -> None:
    dice = random.Random(seed)
    acknowledged: list[dict[str, Any]] = []
    have: list[dict[str, Any]] = []
    last: str | None = None
    over = threading.Event()
    with nursing(folder) as nursery:

        def send() -> None:
            """One reading after the other; one that is not acknowledged is sent again."""
            caller = Caller(nursery.port)
            while not over.is_set():
                reading = minute(len(acknowledged))
                try:
                    if caller("POST", "/api/v1/streams/air/readings", reading).status == 200:
                        acknowledged.append(reading)
                except LOST:
                    caller.close()
                    caller = Caller(nursery.port)
            caller.close()

        def follow(count: int) -> None:
            """Until so many rows are there, or until the server is gone."""
            nonlocal last
            events = Events(nursery.port, RESULTS, **({"Last_Event_ID": last} if last else {}))
            try:
                for event in events:
                    last = event.id or last
                    if event.name == "rows":
                        have.extend(event.data["rows"])
                    if len(have) >= count:
                        return
            except LOST:
                pass
            finally:
                events.close()

        nursery.begin()
        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        for _ in range(lives):
            follow(len(have) + dice.randrange(1, 15))
            nursery.kill()
            nursery.begin()
        follow(len(have) + 5)
        over.set()
        sender.join(PATIENCE)
        follow(len(acknowledged))
        nursery.kill()
    assert have[: len(acknowledged)] == acknowledged
    assert len(have) <= len(acknowledged) + 1, "the last reading may have come in without being acknowledged"


@pytest.mark.slow
def test_killed_servers_lose_and_double_nothing(tmp_path: Path) -> None:
    storm(tmp_path, 2, 1)


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_servers_killed_at_twenty_random_moments(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, 20, seed)
