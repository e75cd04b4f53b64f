"""The rounds of queries that read the same occurrences of streams: what each round brings, and the watermark it has reached.

All queries with the same start and the same occurrences of streams have the same watermark at all times. They move in the same
rounds, and only such queries can share a stateful part of their plans.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import polars as pl

from nilometer.dataflow.door import Door
from nilometer.dataflow.sources import TableVersion
from nilometer.dataflow.stages import Round
from nilometer.dataflow.watermark import Leaf, query_watermark
from nilometer.types import INT_MINIMUM


class Inlet(Protocol):
    """Where a stream comes in: its entries are pushed into it (pushed.py) or pulled by it (pulled.py)."""

    @property
    def door(self) -> Door:
        """Decides lateness."""

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""


class Pace:
    """`ends` False: the end of a stream raises no watermark, as while it still runs. `moved` once it has given a round: a query that
    comes later cannot join; one that is restored to the same moment can."""

    def __init__(self, leaves: Iterable[Leaf], inlets: Mapping[str, Inlet], *, ends: bool = True) -> None:
        self.leaves = frozenset(leaves)
        self.inlets = {stream: inlets[stream] for stream in sorted({leaf.stream for leaf in self.leaves})}
        self.rounds = 0
        self.moved = False
        self._ends = ends
        self._versions: deque[TableVersion] = deque()
        self._held_from = INT_MINIMUM

    @property
    def watermark(self) -> int:
        """Every tick below it is complete for these queries."""
        doors = {stream: inlet.door for stream, inlet in self.inlets.items()}
        return query_watermark(self.leaves, doors, self._ended if self._ends else ())

    @property
    def _ended(self) -> set[str]:
        return {stream for stream, inlet in self.inlets.items() if inlet.ended}

    def refresh(self, version: TableVersion) -> None:
        """Tables were read anew. A version that a restored state has seen is passed over. Without a stream nothing has a tick to
        meet a version."""
        last = self._versions[-1].holds_from if self._versions else self._held_from
        if version.holds_from > last and self.inlets:
            self._versions.append(version)

    @property
    def has_version(self) -> bool:
        """Whether a version of the tables waits for its round."""
        return bool(self._versions)

    def version_round(self) -> Round:
        """The tables as they were first, in the first round; then a version a round. A row meets its own version by its tick, so a
        version may come before its time."""
        if not self.rounds:
            return self.round({})
        version = self._versions.popleft()
        self._held_from = version.holds_from
        return self.round({}, version)

    def round(self, admitted: Mapping[str, pl.DataFrame], version: TableVersion | None = None) -> Round:
        """The next round, with the accepted tuples of the streams that moved."""
        first_ticks = {
            stream: inlet.door.first_tick
            for stream, inlet in self.inlets.items()
            if inlet.door.first_tick is not None
        }
        first, self.rounds, self.moved = self.rounds == 0, self.rounds + 1, True
        if version is None:
            return Round(admitted, self.watermark, first_ticks, first)
        return Round(admitted, self.watermark, first_ticks, first, version.tables, version.holds_from)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The number of rounds, the streams that have ended, and which versions of tables came."""
        numbers: dict[str, Any] = {"rounds": self.rounds, "ended": sorted(self._ended)}
        if self._held_from > INT_MINIMUM:
            numbers["held_from"] = self._held_from
        return {"pacer": json.dumps(numbers).encode()}

    def restore(self, panes: Mapping[str, bytes]) -> None:
        """Go on where a snapshot was taken."""
        numbers = json.loads(panes["pacer"])
        self.rounds = numbers["rounds"]
        self._held_from = numbers.get("held_from", INT_MINIMUM)
        self._versions = deque(version for version in self._versions if version.holds_from > self._held_from)
