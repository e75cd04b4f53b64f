"""Passes rounds from the process that plans them to the owner, by two named pipes in the folder of the run.

Spark's own way to the owner, `foreachBatch`, asks for two log files of Spark's in every micro-batch, which nobody reads: a
run begins with an empty checkpoint. So Spark writes to its sink `noop`, and results are files of ours (round_work.py).

The law: the owner is told of the rounds in their order, and of a round only after it has taken the one before. So one round
is computed while another is committed, and no more than that wait.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     taker = Taker(Path(folder))
...     giver = Giver(Path(folder))
...     giver.give(1, tasks=0)
...     first = taker.next()
...     taker.taken()
...     giver.give(2, tasks=4)  # waits until the first is taken
...     second = taker.next()
...     taker.end()
...     giver.close()
...     taker.close()
>>> first, second
(Given(number=1, tasks=0), Given(number=2, tasks=4))
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from nilometer.errors import ResourceError

RESULTS, TAKEN = "results", "taken"
_MESSAGE = struct.Struct("<qi")
_NEXT, _OVER = b"+", b"-"
ENDED = "the owner of the pipeline has ended the run"


@dataclass(frozen=True)
class Given:
    """A round whose result is there, or will be there after so many tasks."""

    number: int
    tasks: int


class Taker:
    """The owner's end. It makes the pipes, and holds both of their ends, so that nobody waits to open them."""

    def __init__(self, folder: Path) -> None:
        for name in (RESULTS, TAKEN):
            os.mkfifo(folder / name, 0o600)
        self._results = os.open(folder / RESULTS, os.O_RDWR | os.O_CLOEXEC)
        self._taken = os.open(folder / TAKEN, os.O_RDWR | os.O_CLOEXEC)

    def next(self) -> Given | None:
        """Wait for a round. None: `end` was called."""
        found = Given(*_MESSAGE.unpack(os.read(self._results, _MESSAGE.size)))
        return found if found.number else None

    def taken(self) -> None:
        """Say that the last round is committed."""
        os.write(self._taken, _NEXT)

    def end(self) -> None:
        """Take no more: neither side waits any longer."""
        os.write(self._results, _MESSAGE.pack(0, 0))
        os.write(self._taken, _OVER)

    def close(self) -> None:
        """Close the pipes."""
        os.close(self._results)
        os.close(self._taken)


class Giver:
    """The planner's end. Without an owner, it raises."""

    def __init__(self, folder: Path) -> None:
        # An owner that has gone in the meantime is not waited for.
        at_once = os.O_CLOEXEC | os.O_NONBLOCK
        self._taken = os.open(folder / TAKEN, os.O_RDONLY | at_once)
        try:
            self._results = os.open(folder / RESULTS, os.O_WRONLY | at_once)
        except OSError as error:
            os.close(self._taken)
            raise ResourceError(ENDED) from error
        for end in (self._taken, self._results):
            os.set_blocking(end, True)
        self._waiting = False

    def give(self, number: int, tasks: int) -> None:
        """Pass a round on, when the owner has taken the one before."""
        if self._waiting and os.read(self._taken, 1) != _NEXT:
            raise ResourceError(ENDED)
        try:
            os.write(self._results, _MESSAGE.pack(number, tasks))
        except BrokenPipeError:
            raise ResourceError(ENDED) from None
        self._waiting = True

    def close(self) -> None:
        """Close the pipes."""
        os.close(self._results)
        os.close(self._taken)
