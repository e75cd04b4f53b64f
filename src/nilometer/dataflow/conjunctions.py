"""The predicate index for conjunctions: equalities, IN lists and ranges of several columns, numbers and strings.

Each filter is indexed by one of its conditions, its access predicate: an equality or IN list by value, else a range by
its bounds. A batch gives the pairs of filters and tuples that fit the access predicate; the other conditions are
checked for all pairs at once, column by column. (Fabret et al., SIGMOD 2001, index conjunctions so; NiagaraCQ groups
the filters.) No condition holds for NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.dataflow.filters import Condition, Range, Values
from nilometer.kernels.filter_ranges import Ranges, filter_ranges

PAIRS = 1 << 20
"""The number of pairs that are checked at once."""
FEW, LONG = 16, 4_096
"""Up to so many ranges of a column are compared one by one with a batch of so many rows: that costs 0.2 ms each for 250,000
rows, where sorting the rows costs 20."""

T = TypeVar("T")
Places = npt.NDArray[np.int64]


class Conjunctions(Generic[T]):
    """An index of filters, each given with its conditions by column; every filter has at least one."""

    def __init__(self, filters: Sequence[tuple[T, Mapping[str, Condition]]]) -> None:
        self._filters = [one for one, _ in filters]
        conditions = [{column: _by_values(one) for column, one in each.items()} for _, each in filters]
        self._by_value: dict[str, _ByValue] = {}
        self._by_range: dict[str, tuple[Places, Ranges]] = {}
        self._few: dict[str, list[tuple[int, Range]]] = {}
        values: dict[str, list[tuple[int, Values]]] = {}
        ranges: dict[str, list[tuple[int, Range]]] = {}
        for number, each in enumerate(conditions):
            column = min(each, key=lambda name: _cost(each[name]))
            access = each.pop(column)
            if isinstance(access, Values):
                values.setdefault(column, []).append((number, access))
            else:
                ranges.setdefault(column, []).append((number, access))
        for column, listed in values.items():
            self._by_value[column] = _ByValue(listed)
        for column, limits in ranges.items():
            bounds = [(r.low, r.low_closed, r.high, r.high_closed) for _, r in limits]
            self._by_range[column] = (np.array([n for n, _ in limits], dtype=np.int64), Ranges.of(bounds))
            if len(limits) <= FEW:
                self._few[column] = limits
        columns = {column for each in conditions for column in each}
        self._checks = {column: _Check(column, conditions) for column in sorted(columns)}

    def found(self, rows: pl.DataFrame) -> Iterator[tuple[T, Places]]:
        """The filters that match a row, each with the places of its rows in log order."""
        batch = _Batch(rows)
        for column, index in self._by_value.items():
            yield from self._checked(*index.pairs(batch, column), batch)
        for column, (numbers, ranges) in self._by_range.items():
            known, present = batch.numbers(column)
            if rows.height >= LONG and column in self._few:
                for number, wanted in self._few[column]:
                    places = np.flatnonzero(_inside(known, wanted) & present)
                    yield from self._checked(np.full(len(places), number), places, batch)
                continue
            there = np.flatnonzero(present)
            order = there[np.argsort(known[there], kind="stable")]
            starts, ends = filter_ranges(known[order], ranges)
            counts = np.maximum(ends - starts, 0)
            for part in parts_of(counts):
                owners = np.repeat(numbers[part], counts[part])
                places = order[runs_of(starts[part], counts[part])]
                yield from self._checked(owners, places, batch)

    def _checked(self, owners: Places, places: Places, batch: _Batch) -> Iterator[tuple[T, Places]]:
        for check in self._checks.values():
            if not len(owners):
                return
            holds = check(owners, places, batch)
            owners, places = owners[holds], places[holds]
        if not len(owners):
            return
        order = np.lexsort((places, owners))
        owners, places = owners[order], places[order]
        edges = np.flatnonzero(np.diff(owners, prepend=-1, append=-1))
        for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            yield self._filters[owners[start]], places[start:end]


def _inside(values: npt.NDArray[Any], wanted: Range) -> npt.NDArray[np.bool_]:
    """Which values are in a range. NaN is above all numbers, as where values are sorted."""
    holds = np.ones(len(values), dtype=np.bool_)
    if wanted.low is not None:
        holds &= ~(values < wanted.low if wanted.low_closed else values <= wanted.low)
    if wanted.high is not None:
        holds &= values <= wanted.high if wanted.high_closed else values < wanted.high
    return holds


class _Batch:
    """The columns of a batch as arrays, made once."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self._rows = rows
        self._numbers: dict[str, tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] = {}

    def column(self, name: str) -> pl.Series:
        return self._rows.get_column(name)

    def numbers(self, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """The values, and where there is one."""
        if name not in self._numbers:
            column = self.column(name)
            self._numbers[name] = column.fill_null(0).to_numpy(), column.is_not_null().to_numpy()
        return self._numbers[name]


class _Codes:
    """Numbers the values that filters name; -1 is any other value, and NULL."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = sorted(set(values))
        self.code = {value: number for number, value in enumerate(self.values)}
        self._strings = bool(self.values) and isinstance(self.values[0], str)
        self._sorted = None if self._strings else np.array(self.values)

    def of(self, batch: _Batch, column: str) -> Places:
        if not self.values:
            return np.full(batch.column(column).len(), -1, dtype=np.int64)
        if self._sorted is None:
            found = batch.column(column).replace_strict(
                self.values, list(range(len(self.values))), default=-1, return_dtype=pl.Int64
            )
            return found.fill_null(-1).to_numpy()
        known, present = batch.numbers(column)
        places = np.minimum(np.searchsorted(self._sorted, known), len(self._sorted) - 1)
        return np.where(present & (self._sorted[places] == known), places, -1)


class _ByValue:
    """For each value, the filters that want it."""

    def __init__(self, filters: Sequence[tuple[int, Values]]) -> None:
        self._codes = _Codes([value for _, wanted in filters for value in wanted.values])
        pairs = sorted(
            (self._codes.code[value], number) for number, wanted in filters for value in wanted.values
        )
        self._owners = np.array([number for _, number in pairs], dtype=np.int64)
        codes = np.array([code for code, _ in pairs], dtype=np.int64)
        self._starts = np.searchsorted(codes, np.arange(len(self._codes.values) + 1))

    def pairs(self, batch: _Batch, column: str) -> tuple[Places, Places]:
        """The filters and places that fit."""
        codes = self._codes.of(batch, column)
        places = np.flatnonzero(codes >= 0)
        starts = self._starts[codes[places]]
        counts = self._starts[codes[places] + 1] - starts
        return self._owners[runs_of(starts, counts)], np.repeat(places, counts)


class _Check:
    """One column's conditions beside the access predicates."""

    def __init__(self, column: str, conditions: Sequence[Mapping[str, Condition]]) -> None:
        self._column = column
        found = {n: each[column] for n, each in enumerate(conditions) if column in each}
        ranges = {n: one for n, one in found.items() if isinstance(one, Range)}
        wanted = {n: one for n, one in found.items() if isinstance(one, Values)}
        count = len(conditions)
        self._ranged, self._listed = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        self._ranged[list(ranges)] = True
        self._listed[list(wanted)] = True
        self._bounds = []
        for low in (True, False):
            bounds = {n: r.low if low else r.high for n, r in ranges.items()}
            closed = np.array([(r.low_closed if low else r.high_closed) for r in ranges.values()])
            has = {n: bound for n, bound in bounds.items() if bound is not None}
            if has:
                values = np.zeros(count, dtype=np.array(list(has.values())).dtype)
                values[list(has)] = list(has.values())
                bounded, includes = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
                bounded[list(has)] = True
                includes[list(ranges)] = closed
                self._bounds.append((low, bounded, values, includes))
        self._codes = _Codes([value for one in wanted.values() for value in one.values])
        size = max(1, len(self._codes.values))
        self._size = size
        self._pairs = np.array(
            sorted(n * size + self._codes.code[value] for n, one in wanted.items() for value in one.values),
            dtype=np.int64,
        )

    def __call__(self, owners: Places, places: Places, batch: _Batch) -> npt.NDArray[np.bool_]:
        holds = np.ones(len(owners), dtype=np.bool_)
        if self._bounds:
            known, present = batch.numbers(self._column)
            values = known[places]
            holds &= present[places] | ~self._ranged[owners]
            for low, bounded, bounds, closed in self._bounds:
                limit = bounds[owners]
                inside = values > limit if low else values < limit
                holds &= inside | (closed[owners] & (values == limit)) | ~bounded[owners]
        if self._listed.any():
            codes = self._codes.of(batch, self._column)[places]
            keys = owners * self._size + codes
            at = np.minimum(np.searchsorted(self._pairs, keys), max(0, len(self._pairs) - 1))
            member = (codes >= 0) & (self._pairs[at] == keys) if len(self._pairs) else np.zeros_like(holds)
            holds &= member | ~self._listed[owners]
        return holds


def _by_values(condition: Condition) -> Condition:
    """A range of one value as that value."""
    if isinstance(condition, Range) and condition.low is not None and condition.low == condition.high:
        one = [condition.low] if condition.low_closed and condition.high_closed else []
        return Values(condition.column, frozenset(one))
    return condition


def _cost(condition: Condition) -> tuple[int, int]:
    """Values before ranges, few values before many, two bounds before one."""
    if isinstance(condition, Values):
        return 0, len(condition.values)
    return 1, (condition.low is None) + (condition.high is None)


def runs_of(starts: Places, counts: Places) -> Places:
    """start, start + 1, ... of each run, one run after the other."""
    total = int(counts.sum())
    ends = np.cumsum(counts)
    found: Places = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return found


def parts_of(counts: Places) -> Iterator[slice]:
    """Consecutive parts with about PAIRS pairs each."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + PAIRS, side="right")))
        yield slice(start, end)
        start = end
