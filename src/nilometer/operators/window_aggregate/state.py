"""The state of sliding aggregates: entries (slice, group, components) in the order of their slices, and the
two stacks.

In memory the entries are growing arrays. A snapshot cuts them into panes by running number (blocks.py), so
that only the panes at the end change from round to round. The stacks are not stored: `restore` rebuilds them
from the entries by the same operations (kernels/sliding.py). No entry leaves an UNBOUNDED window, so its
entries are folded into the totals at once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.kernels import sliding, vector_partials
from nilometer.kernels.arrays import Integers
from nilometer.operators.blocks import Blocks
from nilometer.operators.frames import from_bytes, to_bytes
from nilometer.operators.limits import check_kept
from nilometer.operators.window_aggregate.components import MERGED, ROWS, SUMS, Array, Arrays, Component
from nilometer.operators.window_aggregate.partials import (
    GROUP,
    SLICE,
    Partials,
    filled,
    identity,
    value_columns,
    values_of,
)

_ROOM = 262_144
"""Room for this many entries is kept once it has been needed."""


@dataclass(frozen=True)
class Evaluations:
    """The answers of several evaluations. Those of evaluation k end before `ends[k]`; each has a group and
    its components.
    """

    ends: Integers
    groups: Integers
    found: Arrays


class Held(NamedTuple):
    """Entries in order: their slices, and arrays that may be longer with their groups and components."""

    slices: Integers
    groups: npt.NDArray[np.int32]
    values: Arrays

    def between(self, low: int | None, high: int, components: tuple[Component, ...]) -> Partials:
        """The entries with low < slice <= high."""
        first = 0 if low is None else int(np.searchsorted(self.slices, low, side="right"))
        last = max(first, int(np.searchsorted(self.slices, high, side="right")))
        values = {c.name: np.ascontiguousarray(self.values[c.name][..., first:last]) for c in components}
        return Partials(self.slices[first:last], self.groups[first:last].astype(np.int64), values, components)


class SlidingState:
    """Entries and stacks of all groups. `pinned` means that there is one group, which always has an
    answer.
    """

    def __init__(self, components: Sequence[Component], *, pinned: bool, unbounded: bool) -> None:
        self._components = tuple(components)
        self._pinned = pinned
        self._unbounded = unbounded
        # An entry of vectors counts as many, for limits and for the room that is kept free.
        self._weight = 1 + sum(c.height or 0 for c in self._components)
        self._length = 0
        self._names: Integers = np.empty(0, dtype=np.int64)
        self._groups: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._values = {c.name: filled(c, 0) for c in self._components}
        self._nexts = {c.name: filled(c, 0) for c in self._components}
        self._front = {c.name: filled(c, 0) for c in self._components}
        self._back = {c.name: filled(c, 0) for c in self._components}
        self._active: Integers = np.empty(0, dtype=np.int64)
        self._places: Integers = np.empty(0, dtype=np.int64)
        self._first = self._pivot = self._last = self._size = 0
        self._dropped = 0
        self._blocks = Blocks()
        self.hold_groups(1)

    def __len__(self) -> int:
        return self._length - self._first

    def add(self, component: Component) -> None:
        """Add one more component. So far it was equal to the count of rows."""
        self._components = (*self._components, component)
        for store in (self._values, self._nexts, self._front, self._back):
            store[component.name] = store[ROWS].copy()
        self._blocks.forget()

    def hold_groups(self, count: int) -> None:
        """Make room for `count` groups."""
        held = len(self._places)
        if count <= held:
            return
        room = max(count, 2 * held, -(-64 // self._weight)) - held
        for component in self._components:
            for stack in (self._front, self._back):
                stack[component.name] = np.append(stack[component.name], filled(component, room), axis=-1)
        self._active = np.append(self._active, np.zeros(room, dtype=np.int64))
        self._places = np.append(self._places, np.full(room, -1, dtype=np.int64))

    def append(self, entries: Partials) -> None:
        """Append entries, in the order of their slices. All slices are later than those already held."""
        check_kept((len(self) + len(entries)) * self._weight)
        start, end = self._length, self._length + len(entries)
        if end > len(self._names):
            self._reserve(max(2 * end, -(-1024 // self._weight)))
        self._names[start:end] = entries.slices
        self._groups[start:end] = entries.groups
        for component in self._components:
            self._values[component.name][..., start:end] = entries.values[component.name]
        self._length = end

    def advance(self, low: Integers, high: Integers) -> Evaluations:
        """Returns the answers of the windows low < slice <= high. Window ends never decrease."""
        n = self._length
        names, groups = self._names[:n], self._groups[:n]
        stacks = {c.name: self._stacks(c) for c in self._components}
        begin = (self._first, self._pivot, self._last)
        taken, left, ends, answered, counts, *moved = sliding.slide_counts(
            low,
            high,
            names,
            groups,
            *stacks[ROWS],
            *begin,
            self._pinned,
            self._active,
            self._places,
            self._size,
        )
        found: Arrays = {ROWS: counts}
        for c in self._components:
            if c.name == ROWS:
                continue
            moves = (taken, left, groups, *stacks[c.name], *begin, ends, answered)
            if c.size is not None and c.operation == SUMS:
                found[c.name] = vector_partials.slide_vector_sums(*moves)
            elif c.size is not None:
                found[c.name] = vector_partials.slide_vectors(c.operation, identity(c), *moves)
            elif c.operation == SUMS:
                found[c.name] = sliding.slide_sums(*moves)
            elif c.operation in MERGED:
                found[c.name] = sliding.slide_merged(*moves)
            else:
                found[c.name] = sliding.slide(c.operation, identity(c), *moves)
        self._first, self._pivot, self._last, self._size = (int(place) for place in moved)
        self._trim()
        return Evaluations(ends, answered, found)

    @property
    def held(self) -> Held:
        """The entries, for those that answer windows without the stacks."""
        return Held(self._names[: self._length], self._groups, self._values)

    def forget(self, low: int) -> None:
        """Without the stacks: no window holds a slice up to `low` any more."""
        place = int(np.searchsorted(self._names[: self._length], low, side="right"))
        self._first = self._pivot = self._last = max(self._first, place)
        self._trim()

    def alive(self) -> Integers:
        """Returns the groups that occur in an entry or a total, ascending."""
        mentioned: list[Array] = [np.unique(self._groups[self._first : self._length])]
        if self._unbounded:
            mentioned.append(np.flatnonzero(self._back[ROWS] != 0))
        return np.unique(np.concatenate(mentioned)).astype(np.int64)

    def renumber(self, changed: Integers) -> None:
        """Give every group its new number. A group without a new number occurs nowhere."""
        self._drop(self._first)
        self._groups[: self._length] = changed[self._groups[: self._length]]
        old = np.flatnonzero(changed >= 0)
        room = len(self._places)
        for component in self._components:
            for stack in (self._front, self._back):
                moved = filled(component, room)
                moved[..., changed[old]] = stack[component.name][..., old]
                stack[component.name] = moved
        self._active[: self._size] = changed[self._active[: self._size]]
        self._places[:] = -1
        self._places[self._active[: self._size]] = np.arange(self._size)
        self._blocks.forget()

    # ---- panes -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """Returns the entries that a future window may hold, by running number, and the window's position."""
        end = self._dropped + self._length
        begin = self._dropped + self._first
        where = {
            "first": begin,
            "pivot": self._dropped + self._pivot,
            "last": self._dropped + self._last,
            "end": end,
        }
        panes = {"window": json.dumps(where).encode()}
        panes |= self._blocks.snapshot(
            "entries", begin, end, lambda low, high: self._frame(low - self._dropped, high - self._dropped)
        )
        if self._unbounded:
            panes["totals"] = to_bytes(self._totals())
        return panes

    def restore(self, panes: dict[str, bytes], groups: int) -> None:
        """Take back a snapshot that had `groups` groups."""
        where = json.loads(panes["window"])
        self.hold_groups(groups)
        frames = self._blocks.restore("entries", panes, where["end"])
        entries = pl.concat(frames) if frames else self._frame(0, 0)
        entries = entries.tail(where["end"] - where["first"])
        self._dropped = where["first"]
        self._first, self._pivot, self._last = (where[k] - self._dropped for k in ("first", "pivot", "last"))
        self.append(Partials.of_frame(entries, self._components))
        if self._unbounded:
            totals = from_bytes(panes["totals"])
            for name, array in values_of(totals, self._components).items():
                self._back[name][..., : totals.height] = array
        for component in self._components:
            self._rebuild(component)
        self._list_active()

    def _totals(self) -> pl.DataFrame:
        held = {c.name: self._back[c.name] for c in self._components}
        return pl.DataFrame(value_columns(held, self._components))

    def _frame(self, start: int, end: int) -> pl.DataFrame:
        values = {c.name: self._values[c.name][..., start:end] for c in self._components}
        tags = [
            pl.Series(SLICE, self._names[start:end]),
            pl.Series(GROUP, self._groups[start:end].astype(np.int64)),
        ]
        return pl.DataFrame([*tags, *value_columns(values, self._components)])

    def _rebuild(self, component: Component) -> None:
        moves = (self._groups[: self._length], *self._stacks(component), self._first, self._pivot, self._last)
        if component.size is not None and component.operation == SUMS:
            vector_partials.rebuild_vector_sums(*moves)
        elif component.size is not None:
            vector_partials.rebuild_vectors(component.operation, *moves)
        elif component.operation == SUMS:
            sliding.rebuild_sums(*moves)
        elif component.operation in MERGED:
            sliding.rebuild_merged(*moves)
        else:
            sliding.rebuild(component.operation, *moves)

    def _list_active(self) -> None:
        """List the groups with a row in the window, in the order of their numbers."""
        counts = self._front[ROWS] + self._back[ROWS]
        active = np.flatnonzero(counts > 0)
        self._size = len(active)
        self._active[: self._size] = active
        self._places[:] = -1
        self._places[active] = np.arange(self._size)

    # ---- room --------------------------------------------------------------------------------------------------------

    def _stacks(self, component: Component) -> tuple[Array, Array, Array, Array]:
        # Whole arrays, longer than the entries: a slice of a matrix has another memory layout, for which
        # numba would compile a second kernel.
        name = component.name
        return self._values[name], self._nexts[name], self._front[name], self._back[name]

    def _reserve(self, room: int) -> None:
        self._names = _roomier(self._names, room, self._length)
        self._groups = _roomier(self._groups, room, self._length)
        for name in self._values:
            self._values[name] = _roomier(self._values[name], room, self._length)
            # Behind the pivot `nexts` is not set yet, so a long window grows without copying or touching that
            # half.
            self._nexts[name] = _roomier(self._nexts[name], room, self._pivot)

    def _trim(self) -> None:
        if self._unbounded:
            # No entry leaves the window: its contribution stays in the totals.
            self._first = self._pivot = self._last
            self._drop(self._first)
        elif self._first >= 1024 and 2 * self._first > self._length:
            self._drop(self._first)

    def _drop(self, count: int) -> None:
        """Drop the first `count` entries. The arrays shrink once they are eight times as large as needed."""
        kept = self._length - count
        entries: list[Array] = [self._names, self._groups, *self._values.values()]
        for array in entries:
            array[..., :kept] = array[..., count : self._length]
        front = max(self._pivot - count, 0)
        for array in self._nexts.values():
            array[..., :front] = array[..., count : count + front]
        self._length = kept
        self._dropped += count
        self._first, self._pivot, self._last = (
            self._first - count,
            front,
            self._last - count,
        )
        room = -(-_ROOM // self._weight)
        if len(self._names) > max(8 * kept, room):
            self._reserve(max(2 * kept, room))


def _roomier(array: Array, room: int, held: int) -> Array:
    """Returns an array of length `room` with the first `held` cells of the old one (a restored state has
    fewer at first).
    """
    held = min(held, array.shape[-1])
    larger = np.empty((*array.shape[:-1], room), dtype=array.dtype)
    larger[..., :held] = array[..., :held]
    return larger
