"""A unit to begin from: how much a sensor's value has changed since its last reading, and by how much in all.

A unit is a class. It is made with the numbers of `WITH (...)`, and `update` is given the rows in the order of time, as
arrays: their times in microseconds, their ids, and the columns that the query names. Try it:

    SELECT * FROM UNIT differences(river, level WITH (5))
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np


class Differences:
    """Changes of a value of at least so much, for each sensor."""

    inputs = ("FLOAT",)
    columns = {"change": "FLOAT", "travelled": "FLOAT"}  # noqa: RUF012 - a unit says it in plain words
    by_source = True
    memory = "500MB"

    def __init__(self, least: float = 0.0) -> None:
        self.least = least
        self.last: dict[int | str, float] = {}
        self.travelled: dict[int | str, float] = {}

    def update(self, time: Any, id: Any, value: Any) -> dict[str, Any]:  # noqa: ARG002 - times are not needed
        """The changes, each with the number of its row. Rows of one sensor are worked on together."""
        rows, changes, ways = [], [], []
        for source in dict.fromkeys(id.tolist()):
            at = np.flatnonzero(id == source)
            values = value[at]
            before = np.concatenate(([self.last.get(source, values[0])], values[:-1]))
            # One sum after the other, so that batches change no rounding.
            way = np.cumsum(np.append(self.travelled.get(source, 0.0), np.abs(values - before)))[1:]
            self.last[source], self.travelled[source] = float(values[-1]), float(way[-1])
            shown = np.abs(values - before) >= self.least
            rows.append(at[shown])
            changes.append((values - before)[shown])
            ways.append(way[shown])
        order = np.argsort(np.concatenate(rows), kind="stable")
        return {
            "row": np.concatenate(rows)[order],
            "change": np.concatenate(changes)[order],
            "travelled": np.concatenate(ways)[order],
        }

    def snapshot(self) -> bytes:
        """All that it knows."""
        return json.dumps([list(self.last.items()), list(self.travelled.items())]).encode()

    def restore(self, state: bytes) -> None:
        """Take back what `snapshot` gave."""
        last, travelled = json.loads(state)
        self.last, self.travelled = dict(last), dict(travelled)
