"""Finds the periods of each source's symbols by counting every pair of slots, as the definition says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.functions.sequences import evaluations
from nilometer.plan.reference.rows import Evaluation, Row, order_key
from nilometer.types import SECOND

Found = dict[tuple[int, Any, int | None], tuple[int, int]]
"""(period, symbol, position) -> (count, of), of those with enough confidence."""


def periods(
    node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[Evaluation]:
    """The evaluations below W."""
    longest, every = node.call["UP TO"], node.call["EVERY"]
    assert isinstance(longest, int)
    assert isinstance(every, int)

    def at(id_: Any, series: list[Any], first: int) -> Iterator[tuple[Any, ...]]:
        most = min(longest, len(series) // 2)
        found = (
            _segments(node, series, most) if node.call["SEGMENTS"] else _symbols(node, series, first, most)
        )
        for (period, symbol, place), (count, of) in sorted(found.items(), key=_order):
            if node.call["ALL"] or not _divided(period, symbol, place, found):
                yield id_, period, period * every // SECOND, symbol, place, count, of, count / of

    return evaluations(node, rows, first_tick, watermark, at)


def _order(item: tuple[tuple[int, Any, int | None], tuple[int, int]]) -> tuple[Any, ...]:
    period, symbol, place = item[0]
    return period, order_key(place), order_key(symbol)


def _divided(period: int, symbol: Any, place: int | None, found: Found) -> bool:
    return any(
        period % divisor == 0 and (divisor, symbol, None if place is None else place % divisor) in found
        for divisor in range(1, period)
    )


def _symbols(node: TableFunction, series: list[Any], first: int, most: int) -> Found:
    least = node.call["CONFIDENCE"]
    assert isinstance(least, float)
    found: Found = {}
    for period in range(1, most + 1):
        for symbol in {symbol for symbol in series if symbol is not None}:
            for place in range(period):
                pairs = range(place, len(series) - period, period)
                count = sum(series[i] == symbol and series[i + period] == symbol for i in pairs)
                of = -(-(len(series) - place) // period) - 1
                if count and of >= 1 and count / of >= least:
                    found[period, symbol, (first + place) % period] = count, of
    return found


def _segments(node: TableFunction, series: list[Any], most: int) -> Found:
    least = node.call["CONFIDENCE"]
    assert isinstance(least, float)
    found: Found = {}
    for period in range(1, most + 1):
        pairs = zip(series, series[period:], strict=False)
        count = sum(one is not None and one == other for one, other in pairs)
        if count and count / (len(series) - period) >= least:
            found[period, None, None] = count, len(series) - period
    if not node.call["PEAKS"]:
        return found
    kept: Found = {}
    run: list[int] = []
    for period in range(1, most + 2):
        if (period, None, None) in found:
            run.append(period)
        elif run:
            best = max(run, key=lambda p: (found[p, None, None][0] / found[p, None, None][1], -p))
            kept[best, None, None] = found[best, None, None]
            run = []
    return kept
