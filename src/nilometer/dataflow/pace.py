"""The pace of queries that read the same occurrences of streams: the contents and the watermark of each
round.

All queries with the same start and the same occurrences of streams have the same watermark at all times. They
move in the same rounds, and only such queries can share a stateful part of their plans.
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
    """Where a stream's entries come in. A pushed inlet receives them (pushed.py), a pulled inlet fetches them
    (pulled.py)."""

    @property
    def door(self) -> Door:
        """The door that decides which tuples are late."""

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""


class Pace:
    """Counts rounds and computes the watermark.

    With `ends` False, the end of a stream does not raise the watermark: the stream is treated as if it still
    ran. `moved` is True once a round was given: a query that comes later cannot join, but a query restored to
    the same moment can.
    """

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
        """Queue a new version of tables for a round of its own.

        A version that a restored state has already seen is ignored. So is any version if the queries read no
        stream, because then no row has a tick.
        """
        last = self._versions[-1].holds_from if self._versions else self._held_from
        if version.holds_from > last and self.inlets:
            self._versions.append(version)

    @property
    def has_version(self) -> bool:
        """Whether a version of the tables waits for its round."""
        return bool(self._versions)

    def version_round(self) -> Round:
        """The next round for a table version: the first round brings the tables as they were at the start,
        then each round one version.

        A row meets the version that belongs to its tick, so a version may come early.
        """
        if not self.rounds:
            return self.round({})
        version = self._versions.popleft()
        self._held_from = version.holds_from
        return self.round({}, version)

    def round(
        self,
        admitted: Mapping[str, pl.DataFrame],
        version: TableVersion | None = None,
        summaries: Mapping[str, pl.DataFrame] | None = None,
        ticks: Mapping[str, pl.DataFrame] | None = None,
    ) -> Round:
        """The next round, with the accepted tuples, the summaries and the ticks of the streams that moved."""
        first_ticks = {
            stream: inlet.door.first_tick
            for stream, inlet in self.inlets.items()
            if inlet.door.first_tick is not None
        }
        first, self.rounds, self.moved = self.rounds == 0, self.rounds + 1, True
        if version is None:
            found, told = summaries or {}, ticks or {}
            return Round(admitted, self.watermark, first_ticks, first, summaries=found, ticks=told)
        return Round(admitted, self.watermark, first_ticks, first, version.tables, version.holds_from)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The number of rounds, the streams that have ended, and the last table version that was given."""
        numbers: dict[str, Any] = {"rounds": self.rounds, "ended": sorted(self._ended)}
        if self._held_from > INT_MINIMUM:
            numbers["held_from"] = self._held_from
        return {"pacer": json.dumps(numbers).encode()}

    @staticmethod
    def held_from(panes: Mapping[str, bytes]) -> int:
        """From which tick on the last table version of a snapshot holds. That version and those before it are not given to
        it again."""
        found: int = json.loads(panes["pacer"]).get("held_from", INT_MINIMUM)
        return found

    def restore(self, panes: Mapping[str, bytes]) -> None:
        """Go on from a snapshot."""
        numbers = json.loads(panes["pacer"])
        self.rounds = numbers["rounds"]
        self._held_from = self.held_from(panes)
        self._versions = deque(version for version in self._versions if version.holds_from > self._held_from)
