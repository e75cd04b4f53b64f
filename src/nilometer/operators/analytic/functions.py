"""The value of an analytic function in each row, from the row's place and its frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra.analytic import AnalyticFunction, AnalyticItem
from nilometer.errors import InternalError
from nilometer.kernels.arrays import Floats, Integers
from nilometer.operators.analytic.partitions import Partitions, Range
from nilometer.operators.evaluate.overflow import overflow_in
from nilometer.types import INT_MAXIMUM, INT_MINIMUM


def place_of(item: AnalyticItem, parts: Partitions) -> Integers:
    """ROW_NUMBER, RANK, DENSE_RANK and NTILE."""
    place = np.arange(len(parts.starts), dtype=np.int64)
    match item.function:
        case AnalyticFunction.ROW_NUMBER:
            return place - parts.origins + 1
        case AnalyticFunction.RANK:
            return parts.peers - parts.origins + 1
        case AnalyticFunction.DENSE_RANK:
            begun = np.cumsum(parts.peers == place)
            return begun - begun[parts.origins] + 1 if len(place) else place
        case AnalyticFunction.NTILE:
            return _tiles(place - parts.starts, parts.ends - parts.starts, item.offset)
    raise InternalError(f"{item.function} is no place")


def _tiles(place: Integers, count: Integers, tiles: int) -> Integers:
    """The number of the tile; the first tiles have one row more, if the rows do not divide."""
    small, larger = count // tiles, count % tiles
    in_larger = larger * (small + 1)
    behind = larger + (place - in_larger) // np.maximum(small, 1)
    return np.where(place < in_larger, place // (small + 1), behind) + 1


def shifted(item: AnalyticItem, parts: Partitions, values: pl.Series, default: pl.Series | None) -> pl.Series:
    """LAG and LEAD."""
    place = np.arange(len(values), dtype=np.int64)
    if item.ignore_nulls and item.offset:
        # The places of values that are not NULL, and how many of them stand before each row.
        known, places = known_before(values), values.is_not_null().arg_true().cast(pl.Int64).to_numpy()
        if item.function is AnalyticFunction.LAG:
            number = known[place] - item.offset
        else:
            number = known[place + 1] + item.offset - 1
        inside = (number >= known[parts.starts]) & (number < known[parts.ends])
        other = _at(places, number, inside)
    else:
        other = place - item.offset if item.function is AnalyticFunction.LAG else place + item.offset
        inside = (other >= parts.starts) & (other < parts.ends)
    found = taken(values, other, inside)
    if default is None:
        return found
    return pl.select(pl.when(pl.Series(inside)).then(found).otherwise(default)).to_series()


def taken(values: pl.Series, places: Integers, present: npt.NDArray[np.bool_]) -> pl.Series:
    """The values at these places, NULL where none is present."""
    if not len(values):
        return values
    safe = pl.Series(np.where(present, places, 0))
    return pl.select(pl.when(pl.Series(present)).then(values.gather(safe))).to_series()


def known_before(values: pl.Series) -> Integers:
    """How many values before each row are not NULL; one item more than there are rows."""
    counted = np.cumsum(values.is_not_null().to_numpy(), dtype=np.int64)
    return np.concatenate((np.zeros(1, np.int64), counted))


def _at(places: Integers, number: Integers, inside: npt.NDArray[np.bool_]) -> Integers:
    """The places of these numbers; 0 where it is not inside."""
    if not len(places):
        return np.zeros(len(number), np.int64)
    return np.where(inside, places[np.where(inside, number, 0)], 0)


def value_in_frame(item: AnalyticItem, values: pl.Series, frame: Range) -> pl.Series:
    """FIRST_VALUE, LAST_VALUE and NTH_VALUE."""
    low, high = frame
    if item.ignore_nulls:
        known = known_before(values)
        low, high = known[low], known[np.maximum(low, high)]
        values = values.drop_nulls()
        if not len(values):
            return pl.Series(values.name, [None] * len(low), dtype=values.dtype)
    match item.function:
        case AnalyticFunction.FIRST_VALUE:
            place = low
        case AnalyticFunction.LAST_VALUE:
            place = high - 1
        case _:
            place = low + item.offset - 1
    return taken(values, place, (place >= low) & (place < high))


def counts(values: pl.Series | None, frame: Range) -> Integers:
    """The number of rows of each frame, or of values that are not NULL."""
    low, high = frame
    if values is None:
        return high - low
    known = known_before(values)
    return known[high] - known[low]


def float_sums(values: pl.Series, frame: Range) -> Floats:
    """The sum of each frame, as (high, low)."""
    from nilometer.kernels.range_folds import sums_of_ranges

    if not len(values):
        return np.zeros((2, 0))
    found: Floats = sums_of_ranges(values.cast(pl.Float64).fill_null(0.0).to_numpy(), *frame)
    return found


def whole_sums(values: pl.Series, frame: Range, before: Integers | None, what: str) -> Integers:
    """The sum of each frame of INTs plus the sum before it; an error beyond 64 bits."""
    low, high = frame
    numbers = values.fill_null(0).to_numpy()
    most = int(np.abs(numbers).max(initial=0)) if len(numbers) else 0
    if INT_MINIMUM in numbers:
        most = INT_MAXIMUM
    earlier = 0 if before is None or not len(before) else max(abs(int(before.max())), abs(int(before.min())))
    wide: npt.NDArray[Any] = numbers
    if most * len(numbers) + earlier > INT_MAXIMUM:
        wide = numbers.astype(object)  # Python's integers have no limit
    sums = np.concatenate((np.zeros(1, dtype=wide.dtype), np.cumsum(wide)))
    total = sums[high] - sums[low]
    if before is not None:
        total = total + (before.astype(object) if wide.dtype == object else before)
    if wide.dtype == object:
        if any(not INT_MINIMUM <= value <= INT_MAXIMUM for value in total):
            raise overflow_in(what)
        total = total.astype(np.int64)
    return np.asarray(total)


def extremes(values: pl.Series, frame: Range, *, greatest: bool) -> pl.Series:
    """The least or the greatest value of each frame; NULL of none. Values of any type are compared by rank."""
    from nilometer.kernels.range_folds import least_of_ranges

    if not len(values):
        return values
    known = values.drop_nulls().unique().sort(descending=greatest)
    if not len(known):
        return values
    nothing = len(values)
    ranks = values.rank("dense", descending=greatest).cast(pl.Int64).fill_null(nothing + 1).to_numpy() - 1
    least = least_of_ranges(ranks, *frame, nothing)
    return taken(known, np.minimum(least, len(known) - 1), least < nothing).rename(values.name)


def moments(values: pl.Series, frame: Range) -> Floats:
    """Of each frame the count, and the sums of the values and of their squares in two doubles each. They are exact but
    for a few of 106 bits, so that the order in which they are added does not show."""
    numbers = values.cast(pl.Float64).fill_null(0.0)
    squares, rests = _product(numbers.to_numpy(), numbers.to_numpy())
    sums = float_sums(numbers, frame)
    of_squares = _added(float_sums(pl.Series(squares), frame), float_sums(pl.Series(rests), frame))
    return np.stack([counts(values, frame).astype(np.float64), *sums, *of_squares])


def added_moments(one: Floats, other: Floats) -> Floats:
    """The moments of both sets of values, row by row."""
    return np.stack([one[0] + other[0], *_added(one[1:3], other[1:3]), *_added(one[3:5], other[3:5])])


def _added(one: Floats, other: Floats) -> Floats:
    from nilometer.kernels.range_folds import added_pairs

    return np.stack(added_pairs(one[0], one[1], other[0], other[1]))


def _product(one: Floats, other: Floats) -> Floats:
    """The exact products in two doubles (Dekker 1971)."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = one * other
        (high, low), (other_high, other_low) = _halves(one), _halves(other)
        rest = ((high * other_high - product) + high * other_low + low * other_high) + low * other_low
    return np.stack([product, rest])


def _halves(numbers: Floats) -> tuple[Floats, Floats]:
    """The upper and the lower 26 bits."""
    wide = numbers * 134_217_729.0
    high = wide - (wide - numbers)
    return high, numbers - high


def deviations(item: AnalyticItem, found: Floats) -> pl.Series:
    """VARIANCE or STDEV of moments, NULL of fewer than two values: (n * sum of squares - sum * sum) / n / (n - 1)."""
    count, total, rest, squares, squares_rest = found
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scaled = _product(count, squares) + np.stack([np.zeros_like(count), count * squares_rest])
        square = _product(total, total) + np.stack([np.zeros_like(count), 2 * total * rest])
        difference = np.maximum(_added(scaled, -square)[0], 0.0)
        variance = difference / count / (count - 1)
        values = np.sqrt(variance) if item.function is AnalyticFunction.STDEV else variance
    return finite(pl.Series(values), count > 1)


def medians(values: pl.Series, frame: Range) -> pl.Series:
    """The mean of the middle two values of each frame."""
    from nilometer.kernels.range_folds import medians_of_ranges

    known = values.cast(pl.Float64)
    ascending = known.drop_nulls().unique().sort().to_numpy()
    if not len(ascending):
        return pl.Series([None] * len(values), dtype=pl.Float64)
    ranks = known.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    found = medians_of_ranges(ranks, ascending, *frame)
    return pl.Series(found, nan_to_null=True)


def means(sums: Floats, count: Integers) -> pl.Series:
    """Sums divided by counts, NULL of none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return finite(pl.Series(sums[0] / count), count)


def finite(values: pl.Series, count: Integers | npt.NDArray[np.bool_]) -> pl.Series:
    """The values, NULL where nothing was counted, and where a FLOAT is not finite."""
    present = pl.Series(count > 0)
    if values.dtype.is_float():
        present &= values.is_finite()
    return pl.select(pl.when(present).then(values)).to_series()
