"""The aggregates of several arguments, and those that depend on the order of rows, in plain Python.

Each takes the aggregate and the values of its arguments, one tuple per row of the group. A row whose first
argument is NULL is left out, and so is one whose second is, where two values belong together. Rows are ordered
by the columns behind the arguments, and then by the first argument: a window is a bag, and equal rows are alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from nilometer.expressions import Aggregate, Literal
from nilometer.plan.reference import sketches
from nilometer.plan.reference.rows import order_key

Rows = Sequence[tuple[Any, ...]]


def _present(rows: Rows, arguments: int = 1) -> list[tuple[Any, ...]]:
    return [row for row in rows if all(value is not None for value in row[:arguments])]


def _ordered(aggregate: Aggregate, rows: Rows, arguments: int = 1) -> list[tuple[Any, ...]]:
    """The rows by the columns behind the arguments, NULL last, and then by the first argument.

    Sorts are stable, so the last column is sorted by first. `DESC` stands behind a column in descending order.
    """
    ordered = sorted(rows, key=lambda row: order_key(row[0]))
    expressions = aggregate.children()
    descending = False
    for place in range(len(expressions) - 1, arguments - 1, -1):
        if isinstance(expressions[place], Literal):
            descending = True
            continue
        ordered.sort(key=lambda row: order_key(row[place]), reverse=descending)
        ordered.sort(key=lambda row: row[place] is None)
        descending = False
    return ordered


def _first(aggregate: Aggregate, rows: Rows) -> Any:
    found = _ordered(aggregate, _present(rows))
    return found[0][0] if found else None


def _last(aggregate: Aggregate, rows: Rows) -> Any:
    found = _ordered(aggregate, _present(rows))
    return found[-1][0] if found else None


def _arg_max(aggregate: Aggregate, rows: Rows) -> Any:
    found = _ordered(aggregate, _present(rows, 2), 2)
    return max(found, key=lambda row: row[1], default=(None,))[0]  # the first of several


def _arg_min(aggregate: Aggregate, rows: Rows) -> Any:
    found = _ordered(aggregate, _present(rows, 2), 2)
    return min(found, key=lambda row: row[1], default=(None,))[0]


def _array(aggregate: Aggregate, rows: Rows) -> Any:
    return _listed(aggregate, rows, 1)


def _text(aggregate: Aggregate, rows: Rows) -> Any:
    found = _listed(aggregate, rows, 2)
    return None if found is None else rows[0][1].join(found)


def _listed(aggregate: Aggregate, rows: Rows, arguments: int) -> list[Any] | None:
    found = _present(rows)
    if not found:
        return None
    if aggregate.distinct:
        return sorted({row[0] for row in found})
    return [row[0] for row in _ordered(aggregate, found, arguments)]


def _mode(_: Aggregate, rows: Rows) -> Any:
    counts = Counter(row[0] for row in _present(rows))
    return min((value for value in counts if counts[value] == max(counts.values())), default=None)


# ---- percentiles -----------------------------------------------------------------------------------------------------


def median_of(distinct: bool, values: Sequence[Any]) -> Fraction:
    """The exact mean of the middle two values."""
    present = [value for value in values if value is not None]
    ordered = sorted(set(present)) if distinct else sorted(present)
    return Fraction(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2], 2)


def rank_of(share: float, count: int) -> int:
    """The place, from 0, of the least value with at least that share of `count` values at or below it.

    A share such as 0.7 is no exact double. The small number keeps 0.7 of 10 at the seventh value.
    """
    return max(math.ceil(share * count - 1e-9) - 1, 0)


def _percentile_cont(_: Aggregate, rows: Rows) -> float | None:
    ordered = sorted(row[0] for row in _present(rows))
    if not ordered:
        return None
    place = Fraction(rows[0][1]) * (len(ordered) - 1)
    lower, upper = ordered[math.floor(place)], ordered[math.ceil(place)]
    return _finite(Fraction(lower) + (Fraction(upper) - Fraction(lower)) * (place - math.floor(place)))


def _percentile_disc(_: Aggregate, rows: Rows) -> Any:
    ordered = sorted(row[0] for row in _present(rows))
    return ordered[rank_of(rows[0][1], len(ordered))] if ordered else None


def _approx_percentile(_: Aggregate, rows: Rows) -> float | None:
    buckets = sorted(sketches.bucket(row[0]) for row in _present(rows))
    return sketches.middle(buckets[rank_of(rows[0][1], len(buckets))]) if buckets else None


def _approx_count_distinct(_: Aggregate, rows: Rows) -> int:
    return sketches.count_distinct(sketches.hash_of(row[0]) for row in _present(rows))


# ---- pairs -----------------------------------------------------------------------------------------------------------


def _finite(value: Fraction | float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _of_pairs(measure: Callable[..., Fraction | float | None]) -> Callable[[Aggregate, Rows], float | None]:
    def measured(_: Aggregate, rows: Rows) -> float | None:
        pairs = [(Fraction(one), Fraction(other)) for one, other in (row[:2] for row in _present(rows, 2))]
        if not pairs:
            return None
        count = len(pairs)
        one, other = (sum(values) / count for values in zip(*pairs, strict=True))
        both = sum((a - one) * (b - other) for a, b in pairs)
        ones = sum((a - one) ** 2 for a, _ in pairs)
        others = sum((b - other) ** 2 for _, b in pairs)
        result = measure(count, one, other, both, ones, others)
        return None if result is None else _finite(result)

    return measured


def _correlation(
    _count: int, _one: Fraction, _other: Fraction, both: Fraction, ones: Fraction, others: Fraction
) -> float | None:
    return None if not ones or not others else float(both) / math.sqrt(ones) / math.sqrt(others)


# ---- over time -------------------------------------------------------------------------------------------------------


def _areas(aggregate: Aggregate, rows: Rows) -> tuple[Fraction, Fraction]:
    """Value times seconds, and seconds, summed over the sources; each from its first reading to its last."""
    area, seconds = Fraction(0), Fraction(0)
    sources: dict[Any, list[tuple[Any, ...]]] = {}
    for row in _ordered(aggregate, _present(rows), 2):
        if row[2] is not None:
            sources.setdefault(row[3] if len(row) > 3 else None, []).append(row)
    for readings in sources.values():
        for one, other in pairwise(readings):
            width = Fraction(other[2] - one[2], 1_000_000)
            held = Fraction(one[0])
            area += width * ((held + Fraction(other[0])) / 2 if one[1] == "LINEAR" else held)
            seconds += width
    return area, seconds


def _twa(aggregate: Aggregate, rows: Rows) -> float | None:
    values = [Fraction(row[0]) for row in _present(rows) if row[2] is not None]
    if not values:
        return None
    area, seconds = _areas(aggregate, rows)
    return _finite(area / seconds if seconds else sum(values) / len(values))


def _integral(aggregate: Aggregate, rows: Rows) -> float | None:
    return _finite(_areas(aggregate, rows)[0]) if any(row[2] is not None for row in _present(rows)) else None


NAIVE_AGGREGATES: dict[str, Callable[[Aggregate, Rows], Any]] = {
    "first": _first,
    "last": _last,
    "arg_max": _arg_max,
    "arg_min": _arg_min,
    "array_agg": _array,
    "string_agg": _text,
    "mode": _mode,
    "percentile_cont": _percentile_cont,
    "percentile_disc": _percentile_disc,
    "approx_percentile": _approx_percentile,
    "approx_count_distinct": _approx_count_distinct,
    "corr": _of_pairs(_correlation),
    "covar_pop": _of_pairs(lambda n, _a, _b, both, _aa, _bb: both / n),
    "covar_samp": _of_pairs(lambda n, _a, _b, both, _aa, _bb: both / (n - 1) if n > 1 else None),
    "regr_slope": _of_pairs(lambda _n, _a, _b, both, _aa, others: both / others if others else None),
    "regr_intercept": _of_pairs(
        lambda _n, one, other, both, _aa, others: one - both / others * other if others else None
    ),
    "regr_r2": _of_pairs(
        lambda _n, _a, _b, both, ones, others: (
            (both * both / ones / others if ones else 1) if others else None
        )
    ),
    "twa": _twa,
    "integral": _integral,
}
