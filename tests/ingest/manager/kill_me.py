"""A manager that is killed: a source that gives again what was not acknowledged -> entrance -> log -> acknowledge."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import numpy as np

from ingest.manager.streams import KEYED, Reading, result
from nilometer.catalog.extents import Stream
from nilometer.ingest.adapters import Adapter, ReadResult, Status
from nilometer.ingest.adapters.adapter import Clock
from nilometer.ingest.manager import StreamManager
from nilometer.ingest.payloads import Garbled
from nilometer.log import LogDirectory, LogSettings, Offset
from nilometer.log.checksum import checksum_of, next_record, walk, words_of
from nilometer.log.failpoints import VARIABLE, Failpoint, from_environment
from nilometer.types import DAY, SECOND

BATCHES = 24
LONG = 100
OWN = ("before_read", "before_acknowledge", "during_acknowledge", "after_acknowledge")
"""Failpoints of the source, beside those of the log."""

NOW = 1_000_000 * SECOND


def batch(number: int) -> list[Reading]:
    """The readings of a batch: new ones, two that came before, one without a time, one of tomorrow."""
    first = 5 * number
    fresh: list[Reading] = [(NOW - DAY + n, n % 3, n / 4) for n in range(first, first + 5)]
    again = fresh[:1] + [(NOW - DAY + n, n % 3, n / 4) for n in range(max(0, first - 40), first, 39)]
    return [*fresh, *again, (None, 1, 0.5), (NOW + DAY, 1, 0.5)]


class File(Adapter):
    """Batches by number. A file says which ones are acknowledged; opened anew, it gives all the others."""

    def __init__(self, stream: Stream, clock: Clock, file: Path, batches: int, failpoint: Failpoint) -> None:
        super().__init__(stream, clock)
        self._file = file
        self._batches = batches
        self._pass = failpoint

    def open(self) -> None:
        done = acknowledged(self._file)
        self._left = [number for number in range(self._batches) if number not in done]

    def read(self) -> ReadResult:
        self._pass("before_read")
        if not self._left:
            return self.nothing(Status.END)
        number = self._left.pop(0)
        letters = (Garbled(b"\xff%d" % number, "broken", f"batch {number}"),) if number % 3 == 0 else ()
        return result(batch(number), arrived=NOW, garbled=letters, handle=number)

    def acknowledge(self, handle: object) -> None:
        self._pass("before_acknowledge")
        file = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._pass("during_acknowledge")
        os.write(file, b"%d\n" % handle)
        os.close(file)
        self._pass("after_acknowledge")


def acknowledged(file: Path) -> set[int]:
    """Which batches."""
    return {int(line) for line in file.read_text().split()} if file.exists() else set()


def main(folder: Path, batches: int = BATCHES, say: int | None = None) -> None:
    """From the first batch that is not acknowledged to the last; the query comes and goes, and with it source and log."""
    failpoint = from_environment()
    manager = StreamManager(
        LogDirectory(folder, LogSettings(segment_bytes=2_500)),
        lambda: NOW,
        lambda stream, clock: File(stream, clock, folder / "acknowledged", batches, failpoint),
    )
    turns, ended = 0, False
    while not ended:
        manager.register("q", [KEYED], {"river": Offset()})
        for _ in range(5):
            manager.poll()
            manager.heartbeat("river", turns)
            turns += 1
            if turns % 4 == 0:
                manager.record_demand("river", {"turn": turns})
            if say is not None:
                os.write(say, b".")
        while manager.take("q") is not None:
            pass
        ended = manager.ended("river")
        manager.unregister("q")
    manager.close()


def compile_before_birth() -> None:
    """Compiled once, here: to load the libraries costs a thousand times what a child is wanted for. Nothing may have been done with
    Polars before a fork, which does not take its threads along."""
    checksum_of(b"compiled")
    next_record(words_of(bytes(64)), 0)
    walk(words_of(bytes(64)), 0)
    np.maximum.accumulate([1])


def born(folder: Path, batches: int, say: int | None = None) -> int:
    """A child that runs `main`."""
    child = os.fork()
    if child == 0:
        # A fork beside a thread that holds some lock may hang: then it dies of this, and the test says so.
        signal.alarm(60)
        main(folder, batches, say)
        os._exit(0)
    return child


def at_failpoints(root: Path, plans: list[str]) -> None:
    """For each plan (`during_write:4,before_cut:1`) children that die one after the other."""
    for plan in plans:
        (root / plan).mkdir()
        for failpoint in plan.split(","):
            os.environ[VARIABLE] = failpoint
            _, status = os.waitpid(born(root / plan, BATCHES), 0)
            print(plan, failpoint, os.waitstatus_to_exitcode(status), flush=True)


def at_random(root: Path, seed: int, folders: int, deaths: int) -> None:
    """Children that are killed somewhere behind a turn that they have reported."""
    chance = random.Random(seed)
    for number in range(folders):
        folder = root / f"random{number}"
        folder.mkdir()
        for _ in range(deaths):
            ear, mouth = os.pipe()
            child = born(folder, LONG, mouth)
            os.close(mouth)
            turns = chance.randrange(1, 14)
            while turns and os.read(ear, 1):
                turns -= 1
            for _ in range(chance.randrange(300_000)):
                pass
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            os.close(ear)
            print(folder.name, os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    compile_before_birth()
    if sys.argv[1] == "at_failpoints":
        at_failpoints(Path(sys.argv[2]), sys.argv[3:])
    else:
        at_random(Path(sys.argv[2]), *map(int, sys.argv[3:]))
