"""The test's side of the processes that it kills: a child's lines, and its death."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nilometer.types import parse_time
from storm.publishers import PATIENCE, Reading

TESTS = Path(__file__).parents[1]


ENVIRONMENT = os.environ | {
    "POLARS_MAX_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]),
}


def listen(stream: Any, say: Callable[[str], object]) -> None:
    """Every line, until there are no more."""
    for line in stream:
        say(line.rstrip("\n"))


class Nursery:
    """Gives birth to `nilometer run` by forking; one child at a time."""

    def __init__(self) -> None:
        command = [sys.executable, str(TESTS / "storm" / "nursery.py")]
        self._process = subprocess.Popen(
            command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._ear = threading.Thread(target=listen, args=(self._process.stdout, self._lines.put), daemon=True)
        self._ear.start()
        assert self._line() == "ready"

    def _line(self) -> str:
        return self._lines.get(timeout=PATIENCE)

    def live(self, folder: Path, failpoint: str = "-", segment_bytes: int = 6_000) -> Life:
        """A child, which dies at the failpoint if it comes there."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"live {folder} {failpoint} {segment_bytes}\n")
        word, pid = self._line().split()
        assert word == "born"
        return Life(self._line, int(pid))

    def close(self) -> None:
        """No more children."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._ear.join(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Life:
    """A running child. `answered`: the readings that its query `every` has given in this life."""

    def __init__(self, line: Any, pid: int) -> None:
        self._line = line
        self.pid = pid
        self.answered: set[Reading] = set()
        self.died: int | None = None

    def hear(self) -> None:
        """The next line."""
        line = self._line()
        if line.startswith("died "):
            self.died = int(line.split()[1])
        elif line.startswith("{"):
            row = json.loads(line)
            if row.get("query") == "every":
                self.answered.add((parse_time(row["time"]), row["id"]))

    def until(self, readings: set[Reading]) -> bool:
        """Wait until the child has answered for these, or is dead; whether it lives."""
        while self.died is None and not readings <= self.answered:
            self.hear()
        return self.died is None

    def end_by_itself(self) -> int:
        """Wait for its death; how it died."""
        while self.died is None:
            self.hear()
        return self.died

    def end(self, how: signal.Signals) -> int:
        """Send it a signal, unless it is dead, and wait for its death."""
        if self.died is None:
            os.kill(self.pid, how)
        return self.end_by_itself()


class Process(Life):
    """`nilometer run` as its users start it."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "nilometer.cli.main", "run", "--data", str(folder), "--json"]
        self._process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        super().__init__(lambda: self._lines.get(timeout=PATIENCE), self._process.pid)
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            listen(stream, self._lines.put)
        self._lines.put(f"died {self._process.wait()}")

    def bury(self) -> None:
        """Whatever happened to the test, the process ends with it."""
        self._process.kill()
        self._process.wait(PATIENCE)
        self._ear.join(PATIENCE)
