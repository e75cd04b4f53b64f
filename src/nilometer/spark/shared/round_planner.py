"""Plans the rounds of a pipeline from record headers and changes: which stretches of the logs each group reads next.

A group stands at one place of its streams' logs. Groups that come to the same place of the same streams become one. A query
that is behind has a group of its own and holds up nobody: each group reads up to `max_rows` rows in a round. So does a group
whose states are older than its last commit: it reads again up to there, and then goes on. A group whose query waits for a
version of a table reads nothing.

Changes take effect in the next round. What is new is read when the interval of the trigger is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nilometer.errors import DataError
from nilometer.log import LogDirectory, Offset
from nilometer.spark.admission import Admission
from nilometer.spark.places import Places
from nilometer.spark.shared.changes import Change, ChangeReader, Hold, Join, Leave, Refresh
from nilometer.spark.shared.rounds import Round, Stretch


@dataclass
class _Group:
    """Queries at one place of the logs: their numbers, by name. `until`: they read again up to their last commit; None: they
    have come there."""

    number: int
    admission: Admission
    places: Places
    members: dict[str, int]
    until: Mapping[str, Offset] | None
    apart: bool = False
    held: bool = False
    offsets: Mapping[str, Offset] = field(default_factory=dict)
    """How far they have answered."""

    def __post_init__(self) -> None:
        self.moved(self.places)

    def moved(self, places: Places) -> None:
        """They have read up to these places."""
        self.places = places
        read = places.offsets
        if self.until is not None and all(read[name] >= at for name, at in self.until.items()):
            self.until = None
        self.offsets = read if self.until is None else self.until


class RoundPlanner:
    """Makes one round after the other. `place` is the data directory (or URL), `folder` that of the run. `trigger`: seconds
    from one round that reads what is new to the next."""

    def __init__(
        self,
        place: str,
        folder: Path,
        max_rows: int,
        trigger: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logs = LogDirectory(place)
        self._changes = ChangeReader(folder)
        self._max_rows = max_rows
        self._trigger, self._clock = trigger, clock
        self._interval: float | None = None
        """The number of the last interval in which something new was looked for."""
        self._groups: dict[int, _Group] = {}
        self._put_off: list[Hold] = []
        """Only a query that has read again up to its last commit knows how far it has answered."""
        self._next: Round | None = None
        self.number = 0
        """The number of the last round that was done."""

    def next(self) -> Round | None:
        """The next round; None if there is nothing to do. The same one until it is done."""
        if self._next is None:
            self._next = self._plan()
        return self._next

    def done(self, round_: Round) -> None:
        """A round is done."""
        if self._next is round_:
            self.number, self._next = round_.number, None

    def _plan(self) -> Round | None:
        offsets = {group.number: group.offsets for group in self._groups.values()}
        behind = self._behind
        changes: list[Change] = []
        stretches: list[Stretch] = []
        unread: dict[int, DataError] = {}
        found, self._put_off = (*self._put_off, *self._changes.new()), []
        for change in found:
            if isinstance(change, Hold) and self._is_behind(change.name):
                self._put_off.append(change)
                continue
            changes.append(change)
            self._apply(change)
            behind |= self._behind  # also of a query that comes and leaves in this round
        # A round with changes reads nothing: the states and books that it gives are those at the places before it.
        if not changes:
            due = self._due()
            for group in self._groups.values():
                try:
                    stretches += self._read(group, due=due)
                except DataError as error:
                    unread[group.number] = error
            behind = self._behind
        for number in unread:
            self._groups.pop(number, None)
        if not changes and not stretches and not unread:
            return None
        merged = tuple(self._merge())
        # A group whose last query leaves in this round is among them, too.
        offsets |= {group.number: group.offsets for group in self._groups.values()}
        offsets = {number: at for number, at in offsets.items() if number not in dict(merged)}
        return Round(self.number + 1, tuple(changes), tuple(stretches), offsets, merged, unread, behind)

    def _due(self) -> bool:
        """Whether to look for something new: once in each interval."""
        if not self._trigger:
            return True
        before, self._interval = self._interval, self._clock() // self._trigger
        return self._interval != before

    @property
    def _behind(self) -> frozenset[int]:
        return frozenset(group.number for group in self._groups.values() if group.until is not None)

    def _is_behind(self, name: str) -> bool:
        return any(name in group.members and group.until is not None for group in self._groups.values())

    def _apply(self, change: Change) -> None:
        if isinstance(change, Leave):
            self._put_off = [hold for hold in self._put_off if hold.name != change.name]
            for group in list(self._groups.values()):
                if group.members.get(change.name) == change.number:
                    del group.members[change.name]
                if not group.members:
                    del self._groups[group.number]
        if isinstance(change, Hold | Refresh):
            for group in self._groups.values():
                if change.name in group.members:
                    group.held = isinstance(change, Hold)
        if isinstance(change, Join):
            logs = {name: self._logs.log(stream) for name, stream in change.streams.items()}
            self._groups[change.group] = _Group(
                change.group,
                Admission(change.streams, logs),
                Places.at(change.state_at),
                {member.name: member.number for member in change.members},
                change.committed,
                change.apart,
            )

    def _read(self, group: _Group, *, due: bool) -> list[Stretch]:
        """What a group reads in this round. What it reads again waits for nothing."""
        again = group.until is not None
        if not again and (group.held or not due):
            return []
        end = group.admission.latest(group.places, self._max_rows, group.until)
        if end == group.places:
            if again:
                raise DataError(
                    "a stream's log ends before what the query has read",
                    hint="the log has lost its end: replay the query from the beginning",
                )
            return []
        pieces = tuple(piece for part in group.admission.pieces(group.places, end, 1) for piece in part)
        group.moved(end)
        group.admission.forget(end)
        return [Stretch(group.number, pieces, again)]

    def _merge(self) -> list[tuple[int, int]]:
        """Let groups that have come to the same place become one. The eldest stays. A query that joins tables stays alone:
        the versions that it meets are its own."""
        found: list[tuple[int, int]] = []
        at: dict[object, _Group] = {}
        ready = [group for group in self._groups.values() if not group.apart and group.until is None]
        for group in ready:
            other = at.setdefault(tuple(sorted(group.offsets.items())), group)
            if other is not group:
                other.members |= group.members
                del self._groups[group.number]
                found.append((group.number, other.number))
        return found
