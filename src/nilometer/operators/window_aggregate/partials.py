"""Partials: columns of (slice, group, components), one entry per slice and group that has a row.

These functions apply the monoid to whole columns: they reduce rows, concatenate partials, sort them by slice,
and merge those of equal slice and group. Panes store partials as frames; kernels work on them as arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.kernels import entries, vector_partials
from nilometer.kernels.arrays import Integers
from nilometer.kernels.read_only import read_only
from nilometer.kernels.slices import EVERY_TICK, Slicing, order_by
from nilometer.operators.frames import Dtypes
from nilometer.operators.vectors import matrix_of
from nilometer.operators.window_aggregate.components import MERGED, ROWS, SUMS, Array, Arrays, Component

SLICE = "@slice"
GROUP = "@group"


@dataclass(frozen=True)
class LiftedRows:
    """Rows in arrival order with their components (components.py describes the form)."""

    ticks: Integers
    groups: Integers
    values: Arrays
    components: tuple[Component, ...]


@dataclass(frozen=True)
class Partials:
    """Columns of equal length. A component with several parts has one row per part."""

    slices: Integers
    groups: Integers
    values: Arrays
    components: tuple[Component, ...]

    def __len__(self) -> int:
        return len(self.slices)

    @staticmethod
    def of_rows(rows: LiftedRows, slicing: Slicing, groups: int) -> Partials:
        """Returns one partial per slice and group of the rows, in order. All group codes are below
        `groups`.
        """
        stamps = np.full(groups, -1, dtype=np.int64)
        entry_of, slices, codes, counts, ascending = entries.entries_of(
            read_only(rows.ticks), read_only(rows.groups), stamps, *slicing
        )
        values: Arrays = {}
        for c in rows.components:
            lifted = rows.values.get(c.name)
            if lifted is None:
                values[c.name] = counts
            elif c.size is not None and c.operation == SUMS:
                values[c.name] = vector_partials.sum_vectors(entry_of, read_only(lifted), len(slices))
            elif c.operation == SUMS and lifted.ndim == 1:
                values[c.name] = entries.sum_rows(entry_of, read_only(lifted), len(slices))
            else:
                values[c.name] = _reduced(c, entry_of, lifted, len(slices))
        found = Partials(slices, codes, values, rows.components)
        return found if ascending else found.ordered().reduced(groups)

    @staticmethod
    def concatenate(parts: Sequence[Partials], components: tuple[Component, ...]) -> Partials:
        """Returns all partials, one after the other."""
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
        """Returns the partials with one more component, a copy of the count of rows."""
        values = self.values | {component.name: self.values[ROWS]}
        return Partials(self.slices, self.groups, values, (*self.components, component))

    def ordered(self) -> Partials:
        """Returns the partials in the order of their slices."""
        order = order_by(self.slices)
        return self if order is None else self._at(order)

    def split(self, bound: int) -> tuple[Partials, Partials]:
        """Splits ordered partials into those of slices below the bound and the others."""
        place = int(np.searchsorted(self.slices, bound, side="left"))
        return self._at(slice(None, place)), self._at(slice(place, None))

    def where(self, mask: npt.NDArray[np.bool_]) -> Partials:
        """Returns the partials inside the mask."""
        return self._at(np.flatnonzero(mask))

    def reduced(self, groups: int) -> Partials:
        """Merges ordered partials into one per slice and group. All group codes are below `groups`."""
        stamps = np.full(groups, -1, dtype=np.int64)
        entry_of, slices, codes, _, _ = entries.entries_of(
            read_only(self.slices), read_only(self.groups), stamps, *EVERY_TICK
        )
        if len(slices) == len(self):
            return self
        values = {c.name: _reduced(c, entry_of, self.values[c.name], len(slices)) for c in self.components}
        return Partials(slices, codes, values, self.components)

    def frame(self) -> pl.DataFrame:
        """Returns the partials as a frame, for a pane."""
        columns = [pl.Series(SLICE, self.slices), pl.Series(GROUP, self.groups)]
        return pl.DataFrame([*columns, *value_columns(self.values, self.components)])

    @staticmethod
    def of_frame(frame: pl.DataFrame, components: tuple[Component, ...]) -> Partials:
        """The inverse of `frame`."""
        values = values_of(frame, components)
        return Partials(frame[SLICE].to_numpy(), frame[GROUP].to_numpy(), values, components)

    @staticmethod
    def dtypes(components: Iterable[Component]) -> Dtypes:
        """The columns and dtypes of a frame of partials."""
        columns: Dtypes = {SLICE: pl.Int64(), GROUP: pl.Int64()}
        for component in components:
            number = pl.Int64() if component.dtype == "int64" else pl.Float64()
            for name in _names(component):
                columns[name] = number if component.height is None else pl.Array(number, component.height)
        return columns

    def _at(self, places: Integers | slice) -> Partials:
        values = {name: array[..., places] for name, array in self.values.items()}
        return Partials(self.slices[places], self.groups[places], values, self.components)


def value_columns(values: Arrays, components: Iterable[Component]) -> list[pl.Series]:
    """Converts components to columns of a frame."""
    columns = []
    for component in components:
        array = values[component.name]
        if component.height is not None:
            columns.append(rows_of_matrix(component.name, array))
            continue
        rows = list(array) if component.parts else [array]
        names = _names(component)
        columns += [pl.Series(name, np.ascontiguousarray(row)) for name, row in zip(names, rows, strict=True)]
    return columns


def values_of(frame: pl.DataFrame, components: Iterable[Component]) -> Arrays:
    """Reads components from the columns of a frame."""
    values: Arrays = {}
    for component in components:
        if component.height is not None:
            values[component.name] = np.ascontiguousarray(matrix_of(frame[component.name])[0].T)
            continue
        rows = [frame[name].to_numpy() for name in _names(component)]
        values[component.name] = np.stack(rows) if component.parts else rows[0]
    return values


def filled(component: Component, length: int) -> Array:
    """An array of `length` identities."""
    height = component.height or len(component.parts)
    shape = (height, length) if height else (length,)
    return np.full(shape, component.identity, dtype=component.dtype)


def identity(component: Component) -> Array:
    """The identity as a scalar of the component's own type, so that one compiled kernel serves all calls."""
    return np.dtype(component.dtype).type(component.identity)  # type: ignore[no-any-return]


def rows_of_matrix(name: str, matrix: Array) -> pl.Series:
    """The partials of vectors, one row per entry. A sum may be infinite here: only its answer is NULL then."""
    height, length = matrix.shape
    flat = pl.Series(name, np.ascontiguousarray(matrix.T).reshape(-1))
    return flat.reshape((length, height)) if length else pl.Series(name, [], pl.Array(flat.dtype, height))


def _names(component: Component) -> list[str]:
    if component.size is not None:
        return [component.name]
    return [f"{component.name}.{part}" for part in component.parts] or [component.name]


def _reduced(component: Component, entry_of: Array, values: Array, count: int) -> Array:
    """Reduces one component to one value per entry."""
    values = read_only(values)
    if component.size is not None and component.operation == SUMS:
        return vector_partials.reduce_vector_sums(entry_of, values, count)  # type: ignore[no-any-return]
    if component.size is not None:
        return vector_partials.reduce_vectors(  # type: ignore[no-any-return]
            component.operation, identity(component), entry_of, values, count
        )
    if component.operation == SUMS:
        return entries.reduce_sums(entry_of, values, count)  # type: ignore[no-any-return]
    if component.operation in MERGED:
        return entries.reduce_merged(entry_of, values, count)  # type: ignore[no-any-return]
    return entries.reduce_rows(  # type: ignore[no-any-return]
        component.operation, identity(component), entry_of, values, count
    )
