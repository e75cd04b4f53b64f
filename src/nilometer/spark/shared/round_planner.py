"""Plans the rounds of a pipeline from record headers and changes: which stretches of the logs each group reads next.

A group stands at one place of its streams' logs. Groups that come to the same place of the same streams become one. A query
that is behind has a group of its own and holds up nobody: each group reads up to `max_rows` rows in a round. A group whose
query waits for a version of a table reads nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    """Queries at one place of the logs."""

    number: int
    admission: Admission
    places: Places
    members: set[str]
    apart: bool = False
    held: bool = False
    offsets: dict[str, Offset] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.offsets = self.places.offsets


class RoundPlanner:
    """Makes one round after the other. `place` is the data directory (or URL), `folder` that of the run."""

    def __init__(self, place: str, folder: Path, max_rows: int) -> None:
        self._logs = LogDirectory(place)
        self._changes = ChangeReader(folder)
        self._max_rows = max_rows
        self._groups: dict[int, _Group] = {}
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
        changes = self._changes.new()
        offsets = {group.number: group.offsets for group in self._groups.values()}
        stretches: list[Stretch] = []
        unread: dict[int, DataError] = {}
        for change in changes:
            try:
                stretches += self._apply(change)
            except DataError as error:
                assert isinstance(change, Join), "a change that reads"
                unread[change.group] = error
        # A round with changes reads nothing new: the states and books that it gives are those at the places before it.
        if not changes:
            for group in self._groups.values():
                try:
                    stretches += self._read(group)
                except DataError as error:
                    unread[group.number] = error
        for number in unread:
            self._groups.pop(number, None)
        if not changes and not stretches and not unread:
            return None
        merged = tuple(self._merge())
        # A group whose last query leaves in this round is among them, too.
        offsets |= {group.number: group.offsets for group in self._groups.values()}
        offsets = {number: at for number, at in offsets.items() if number not in dict(merged)}
        return Round(self.number + 1, changes, tuple(stretches), offsets, merged, unread)

    def _apply(self, change: Change) -> list[Stretch]:
        if isinstance(change, Leave):
            for group in list(self._groups.values()):
                group.members.discard(change.name)
                if not group.members:
                    del self._groups[group.number]
        if isinstance(change, Hold | Refresh):
            for group in self._groups.values():
                if change.name in group.members:
                    group.held = isinstance(change, Hold)
        if not isinstance(change, Join):
            return []
        logs = {name: self._logs.log(stream) for name, stream in change.streams.items()}
        group = _Group(
            change.group,
            Admission(change.streams, logs),
            Places.at(change.state_at),
            {member.name for member in change.members},
            change.apart,
        )
        self._groups[group.number] = group
        return self._read_again(group, change.committed)

    def _read_again(self, group: _Group, until: Mapping[str, Offset]) -> list[Stretch]:
        """The stretches up to the last commit. Each has about as many rows as a round, so that the streams of a join come
        in turn."""
        found: list[Stretch] = []
        while any(group.offsets[name] < at for name, at in until.items()):
            end = group.admission.latest(group.places, self._max_rows, until)
            if end == group.places:
                raise DataError(
                    "a stream's log ends before what the query has read",
                    hint="the log has lost its end: replay the query from the beginning",
                )
            found += [Stretch(group.number, one.pieces, again=True) for one in self._stretch(group, end)]
        return found

    def _read(self, group: _Group) -> list[Stretch]:
        """What a group reads in this round."""
        if group.held:
            return []
        end = group.admission.latest(group.places, self._max_rows)
        return [] if end == group.places else self._stretch(group, end)

    def _stretch(self, group: _Group, end: Places) -> list[Stretch]:
        pieces = tuple(piece for part in group.admission.pieces(group.places, end, 1) for piece in part)
        group.places, group.offsets = end, end.offsets
        group.admission.forget(end)
        return [Stretch(group.number, pieces)]

    def _merge(self) -> list[tuple[int, int]]:
        """Let groups that have come to the same place become one. The eldest stays. A query that joins tables stays alone:
        the versions that it meets are its own."""
        found: list[tuple[int, int]] = []
        at: dict[object, _Group] = {}
        for group in [group for group in self._groups.values() if not group.apart]:
            other = at.setdefault(tuple(sorted(group.offsets.items())), group)
            if other is not group:
                other.members |= group.members
                del self._groups[group.number]
                found.append((group.number, other.number))
        return found
