"""The readings of WITHIN in the window: when each leaves it, and what that does to the links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from typing import Any

import polars as pl

from nilometer.algebra.places import Place
from nilometer.algebra.table_function import FunctionCall
from nilometer.operators import frames
from nilometer.phenomena.links import Links
from nilometer.phenomena.neighbours import Source
from nilometer.phenomena.phenomenon import Change
from nilometer.phenomena.tracker import Tracker
from nilometer.types import ceil_to

WITHIN = "within"
"""The one class of candidates."""


def place_of(point: Any) -> Place | None:
    """A point of a frame as a pair."""
    return None if point is None or point["x"] is None else (point["x"], point["y"])


class Readings:
    """Readings by the evaluation at which they leave the window."""

    def __init__(self, links: Links, range_: int, slide: int) -> None:
        self._links = links
        self._range, self._slide = range_, slide
        self._leaving: dict[int, list[tuple[Source, float | None]]] = {}
        self._made: tuple[int, bytes] | None = None

    @property
    def leaving(self) -> Set[int]:
        """The evaluations at which readings leave."""
        return self._leaving.keys()

    def step(
        self, tick: int, rows: Sequence[tuple[Any, ...]], tracker: Tracker, everyone: bool
    ) -> tuple[list[Change], set[Source]]:
        """Take the rows of an evaluation: changes of candidates, and the sources whose links have changed."""
        touched: set[Source] = set()
        for _, source, _, read, value, _, _, point in rows:
            place = place_of(point)
            tracker.places[source] = place
            tracker.neighbours.place(source, place)
            touched.add(source)
            leaves = None if read is None else ceil_to(read + self._range, self._slide)
            if leaves is not None and leaves > tick:
                self._links.add(source, value)
                self._leaving.setdefault(leaves, []).append((source, value))
        for source, value in self._leaving.pop(tick, ()):
            self._links.remove(source, value)
            touched.add(source)
        changed = self._links.compare(
            [*self._links.values, *touched] if everyone else touched, tracker.neighbours
        )
        changes = [
            Change(WITHIN, source, self._standing(source), tracker.places.get(source))
            for source in sorted(touched)
        ]
        return changes, changed

    def forget(self, sources: Iterable[Source], tracker: Tracker) -> None:
        """Drop what is known of sources without readings."""
        for source in sources:
            if source not in self._links.values:
                tracker.places.pop(source, None)
                tracker.neighbours.forget(source)

    def _standing(self, source: Source) -> tuple[int, float | None, float | None, float | None]:
        values = self._links.values.get(source, [])
        if len(values) < self._links.enough(source):
            return 0, None, None, None
        try:
            total = math.fsum(values)
        except (OverflowError, ValueError):
            total = sum(values)
        return len(values), total, values[0], values[-1]

    def snapshot(self, tracker: Tracker, call: FunctionCall) -> dict[str, bytes]:
        """Returns the readings as a pane, which is made once for each turn of the tracker."""
        if self._made is None or self._made[0] != tracker.turn:
            self._made = tracker.turn, self._pane(tracker, call)
        return {"readings": self._made[1]}

    def _pane(self, tracker: Tracker, call: FunctionCall) -> bytes:
        held = [
            (*pair, tick, tracker.places.get(pair[0]))
            for tick, pairs in self._leaving.items()
            for pair in pairs
        ]
        rows = [(source, value, tick, *(place or (None, None))) for source, value, tick, place in held]
        columns: frames.Dtypes = {
            "id": frames.dtype(call.id_type.plain),
            "value": pl.Float64(),
            "leaves": pl.Int64(),
        }
        columns |= {"x": pl.Float64(), "y": pl.Float64()}
        return frames.to_bytes(pl.DataFrame(rows, columns, orient="row").sort("leaves", "id", "value"))

    def restore(self, panes: dict[str, bytes], tracker: Tracker) -> None:
        """Take back what `snapshot` gave."""
        for source, value, leaves, x, y in frames.from_bytes(panes["readings"]).iter_rows():
            place = None if x is None else (x, y)
            tracker.places[source] = place
            tracker.neighbours.place(source, place)
            self._links.add(source, value)
            self._leaving.setdefault(leaves, []).append((source, value))
        self._links.compare(self._links.values, tracker.neighbours)
