"""A step's search by value: of the rows of a pane that time allows, it finds those within the bands of the
partial tuples.

The pane's column is sorted once, in slices of time (kernels/band_index.py). The search pays where time alone
would leave many candidates. With fewer candidates, testing the condition on all of them is faster than
searching for a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.kernels.band_index import BandIndex, Values
from nilometer.operators.bands import Band
from nilometer.operators.panes import Pane
from nilometer.operators.window_join.plan import Search

PAYS_FROM = 64
"""A search by value pays from this average number of candidates by time on."""
_SLICES = 8
"""Slices per range of candidates, on average: few enough to search them all, and enough that the ends of the
range waste little.
"""
_WHOLE_LIMIT = 2**61
"""Beyond this a difference of integers might overflow, and the condition itself must report that."""
_REAL_LIMIT = 1e300


def in_bands(
    search: Search,
    members: Mapping[int, tuple[Pane, Integers | None]],
    pane: Pane,
    starts: Integers,
    ends: Integers,
    limit: int,
) -> Iterator[tuple[Integers, Integers]] | None:
    """Returns pairs (member, row of the pane) with each row between the member's `starts` and `ends`. Returns
    None where a search by value does not pay.
    """
    within = np.maximum(ends - starts, 0)
    mean = int(within.mean()) if len(within) else 0
    if mean < PAYS_FROM:
        return None
    index = _index(search.column, pane, max(mean // _SLICES, 1))
    if index is None:
        return None
    lows, highs = [], []
    known: npt.NDArray[np.bool_] | None = None
    for port, band in search.bands:
        column, there = _column(band.minus, members[port][0])
        rows = members[port][1]
        if rows is not None:
            column, there = column[rows], None if there is None else there[rows]
        bounds = _bounds(column, band)
        if bounds is None:
            return None
        lows.append(bounds[0])
        highs.append(bounds[1])
        if there is not None:
            known = there if known is None else known & there
    if known is not None:
        ends = np.where(known, ends, starts)  # NULL is in no band
    return index.matches(starts, ends, reduce(np.maximum, lows), reduce(np.minimum, highs), limit)


def _index(name: str, pane: Pane, slice_rows: int) -> BandIndex | None:
    if ("band", name) not in pane.notes:
        column, known = _column(name, pane)
        pane.notes["band", name] = BandIndex(column, known, slice_rows) if _safe(column) else None
    index: BandIndex | None = pane.notes["band", name]
    return index


def _column(name: str, pane: Pane) -> tuple[Values, npt.NDArray[np.bool_] | None]:
    column = pane.rows.get_column(name)
    known = column.is_not_null().to_numpy() if column.null_count() else None
    whole = column.dtype != pl.Float64
    values = column if known is None else column.fill_null(0 if whole else 0.0)
    return values.to_numpy(), known


def _safe(values: Values) -> bool:
    if values.dtype == np.float64 or not len(values):
        return True
    return int(values.max()) < _WHOLE_LIMIT and int(values.min()) > -_WHOLE_LIMIT


def _bounds(values: Values, band: Band) -> tuple[Values, Values] | None:
    """The least and greatest of our values that may match each of theirs. For real numbers the bounds are
    widened by more than any rounding error.
    """
    if values.dtype == np.float64:
        if not band.scale < _REAL_LIMIT:
            return None
        slack = 16 * np.finfo(np.float64).eps * (np.abs(values) + band.scale)
        low = np.full(len(values), -np.inf) if band.low is None else values + band.low - slack
        high = np.full(len(values), np.inf) if band.high is None else values + band.high + slack
        return low, high
    if not _safe(values) or band.scale >= _WHOLE_LIMIT:
        return None
    least: Any = np.iinfo(np.int64).min
    most: Any = np.iinfo(np.int64).max
    low = np.full(len(values), least) if band.low is None else values + np.int64(band.low)
    high = np.full(len(values), most) if band.high is None else values + np.int64(band.high)
    return low, high
