"""Which way a round takes: where Spark plans it, or in tasks. The cheaper one, by what earlier rounds have cost.

    here       the time of all parts, one after the other
    in tasks   the time to start tasks, and that of the dearest part

A part's time is its milliseconds for each thousand readings, a moving average over the rounds so far, whichever way they
took. Before anything is measured, a part takes 0.2 ms for a thousand readings.

>>> costs = WayCosts(parts=4)
>>> costs.in_tasks(10_000), costs.in_tasks(200_000)
(False, True)
>>> costs.note(10_000, [0.5, 0.5, 0.5, 0.5])
>>> costs.in_tasks(200_000)
False
"""

from __future__ import annotations

from collections.abc import Sequence

START_MILLISECONDS = 40.0
"""Starting tasks, and collecting their results."""
GUESSED = 0.2
"""Milliseconds for a thousand readings, in each part, before anything is measured."""
LEAST_ROWS = 500
"""Smaller rounds say little about the time of a reading."""
WEIGHT = 0.2
"""The weight of the newest round in the average."""
MARGIN = 0.8
"""Tasks must save so much: the other way is to stay, and states need not be made again elsewhere."""


class WayCosts:
    """The costs of a pipeline with so many parts. If `task_rows` is given, it decides: a round of so many readings is run in
    tasks, whatever it costs."""

    def __init__(self, parts: int, task_rows: int | None = None) -> None:
        self._task_rows = task_rows
        self._rates = [GUESSED] * parts
        self._measured = False

    def note(self, rows: int, milliseconds: Sequence[float]) -> None:
        """The parts of a round of so many readings took so long."""
        if rows < LEAST_ROWS:
            return
        found = [1_000 * took / rows for took in milliseconds]
        if self._measured:
            found = [(1 - WEIGHT) * old + WEIGHT * new for old, new in zip(self._rates, found, strict=True)]
        self._rates, self._measured = found, True

    def in_tasks(self, rows: int) -> bool:
        """Whether the next round, of so many readings, is run in tasks."""
        if len(self._rates) == 1:
            return False
        if self._task_rows is not None:
            return rows >= self._task_rows
        here, tasks = self.expected(rows)
        return tasks < MARGIN * here

    def expected(self, rows: int) -> tuple[float, float]:
        """The milliseconds that such a round is expected to take here, and in tasks."""
        times = [rate * rows / 1_000 for rate in self._rates]
        return sum(times), START_MILLISECONDS + max(times)


def break_even(parts: int) -> int:
    """From how many readings on a round is run in tasks, before anything is measured.

    >>> break_even(4)
    90909
    """
    saved = GUESSED * (MARGIN * parts - 1) / 1_000
    return round(START_MILLISECONDS / saved)
