"""Partials: columns of (slice, group, components), from one row each up to one per slice and group.

The monoid at work on whole columns: concatenating, ordering by slice, and making one of those of equal slice and group. Frames are
their form in panes, arrays their form in kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.kernels import sliding
from nilometer.kernels.ranges import Integers
from nilometer.kernels.slices import order_by
from nilometer.operators.frames import Dtypes
from nilometer.operators.window_components import MOMENTS, ROWS, SUMS, Array, Arrays, Component

SLICE = "@slice"
GROUP = "@group"


@dataclass(frozen=True)
class Partials:
    """Equally long columns; those of components with parts have a row for each."""

    slices: Integers
    groups: Integers
    values: Arrays
    components: tuple[Component, ...]

    def __len__(self) -> int:
        return len(self.slices)

    @staticmethod
    def concatenate(parts: Sequence[Partials], components: tuple[Component, ...]) -> Partials:
        """All of them, one after the other."""
        if len(parts) == 1:
            return parts[0]
        nothing = np.empty(0, dtype=np.int64)
        slices = np.concatenate([nothing, *(part.slices for part in parts)])
        groups = np.concatenate([nothing, *(part.groups for part in parts)])
        values = {
            c.name: np.concatenate([filled(c, 0), *(part.values[c.name] for part in parts)], axis=-1)
            for c in components
        }
        return Partials(slices, groups, values, components)

    def with_count(self, component: Component) -> Partials:
        """With one more component, which equals the count of rows."""
        values = self.values | {component.name: self.values[ROWS]}
        return Partials(self.slices, self.groups, values, (*self.components, component))

    def ordered(self) -> Partials:
        """In the order of their slices."""
        order = order_by(self.slices)
        return self if order is None else self._at(order)

    def split(self, bound: int) -> tuple[Partials, Partials]:
        """Those of slices below the bound, and the others; they are in order."""
        place = int(np.searchsorted(self.slices, bound, side="left"))
        return self._at(slice(None, place)), self._at(slice(place, None))

    def reduced(self, groups: int) -> Partials:
        """One partial per slice and group; they are in order, of groups below `groups`."""
        stamps = np.full(groups, -1, dtype=np.int64)
        slices, codes = _owned(self.slices), _owned(self.groups)
        entry_of, entry_slices, entry_groups = sliding.entries_of(slices, codes, stamps)
        count = len(entry_slices)
        if count == len(self):
            return self
        merged: Arrays = {}
        for c in self.components:
            array = _owned(self.values[c.name])
            if c.operation == SUMS:
                merged[c.name] = sliding.reduce_sums(entry_of, array, count)
            elif c.operation == MOMENTS:
                merged[c.name] = sliding.reduce_moments(entry_of, array, count)
            else:
                merged[c.name] = sliding.reduce_rows(c.operation, identity(c), entry_of, array, count)
        return Partials(entry_slices, entry_groups, merged, self.components)

    def frame(self) -> pl.DataFrame:
        """As a frame, for a pane."""
        columns = [pl.Series(SLICE, self.slices), pl.Series(GROUP, self.groups)]
        return pl.DataFrame([*columns, *value_columns(self.values, self.components)])

    @staticmethod
    def of_frame(frame: pl.DataFrame, components: tuple[Component, ...]) -> Partials:
        """What `frame` gave."""
        values = values_of(frame, components)
        return Partials(frame[SLICE].to_numpy(), frame[GROUP].to_numpy(), values, components)

    @staticmethod
    def dtypes(components: Iterable[Component]) -> Dtypes:
        """The columns of a frame of partials."""
        columns: Dtypes = {SLICE: pl.Int64(), GROUP: pl.Int64()}
        for component in components:
            for name in _names(component):
                columns[name] = pl.Int64() if component.dtype == "int64" else pl.Float64()
        return columns

    def _at(self, places: Integers | slice) -> Partials:
        values = {name: array[..., places] for name, array in self.values.items()}
        return Partials(self.slices[places], self.groups[places], values, self.components)


def value_columns(values: Arrays, components: Iterable[Component]) -> list[pl.Series]:
    """Components as columns of a frame."""
    columns = []
    for component in components:
        array = values[component.name]
        rows = list(array) if component.parts else [array]
        names = _names(component)
        columns += [pl.Series(name, np.ascontiguousarray(row)) for name, row in zip(names, rows, strict=True)]
    return columns


def values_of(frame: pl.DataFrame, components: Iterable[Component]) -> Arrays:
    """Components from the columns of a frame."""
    values: Arrays = {}
    for component in components:
        rows = [frame[name].to_numpy() for name in _names(component)]
        values[component.name] = np.stack(rows) if component.parts else rows[0]
    return values


def filled(component: Component, length: int) -> Array:
    """So many identities."""
    shape = (len(component.parts), length) if component.parts else (length,)
    return np.full(shape, component.identity, dtype=component.dtype)


def identity(component: Component) -> Array:
    """The identity as a number of the component's own type, so that one compiled kernel serves all calls."""
    return np.dtype(component.dtype).type(component.identity)  # type: ignore[no-any-return]


def _names(component: Component) -> list[str]:
    return [f"{component.name}.{part}" for part in component.parts] or [component.name]


def _owned(array: Array) -> Array:
    """An array that may be written to: numba compiles another kernel for those that may not (Polars' are such)."""
    return np.require(array, requirements=["C", "W"])
