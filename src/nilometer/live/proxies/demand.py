"""The demand of live queries on a stream's sensors, and the least demand that serves them all (fjords.txt
section 3.2).

A `Demand` says: sample at the multiples of one of the `intervals`, and send `columns` of the readings that
satisfy `predicate`. If `aggregate` is given, a summary per pane is enough. `combine` makes one demand of several:
the set of their intervals; the union of the filters, the columns and the sensors; the coarsest summary that serves
all. Without any demand it returns None, and the sensor sleeps.

The law: a tuple that one of the demands asks for is one that their combination asks for, so no query's answer
depends on which others run. Queries filter their input again, so sending more than was asked is never wrong.

>>> from nilometer.expressions import Call, ColumnReference, Literal
>>> from nilometer.types import BOOLEAN, INT, SECOND
>>> def above(bound):
...     return Call(">", (ColumnReference("x", INT), Literal(bound, INT)), BOOLEAN)
>>> both = combine(
...     [
...         Demand((10 * SECOND,), frozenset({"x"}), above(5)),
...         Demand((15 * SECOND,), frozenset({"v"}), above(3)),
...     ]
... )
>>> [interval // SECOND for interval in both.intervals], sorted(both.columns), str(both.predicate)
([10, 15], ['v', 'x'], 'x > 3')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from nilometer.errors import NilometerError
from nilometer.expressions import (
    COMPARISONS,
    LOGICAL,
    MIRROR,
    Aggregate,
    Call,
    ColumnReference,
    Expression,
    Literal,
    columns_of,
    conjunction,
    conjuncts,
    walk,
)
from nilometer.plan.scalar import evaluate
from nilometer.types import BOOLEAN, format_duration


@dataclass(frozen=True)
class Summary:
    """A query needs only these aggregates of a sensor's readings in each pane, `k * every < tick <= (k + 1) *
    every`. Their arguments read the stream's bare columns.
    """

    every: int
    aggregates: frozenset[Aggregate]

    def __str__(self) -> str:
        return f"{', '.join(sorted(map(str, self.aggregates)))} PER {format_duration(self.every)}"


@dataclass(frozen=True)
class Demand:
    """The demand on a stream. `intervals` are sorted, and none is a multiple of another; without any, readings are
    wanted as they come. `predicate` None: all readings (else over bare column names). `aggregate` None: the readings
    themselves. `sensors` None: all sensors.
    """

    intervals: tuple[int, ...]
    columns: frozenset[str]
    predicate: Expression | None = None
    aggregate: Summary | None = None
    sensors: frozenset[int | str] | None = None

    def __post_init__(self) -> None:
        if any(interval <= 0 for interval in self.intervals):
            raise ValueError("a sample interval is positive")
        if self.intervals != least_intervals(self.intervals):
            raise ValueError("sample intervals are sorted, and none is a multiple of another")

    @property
    def interval(self) -> int | None:
        """The one interval that serves all, for sensors that know of no sets; None: as they come."""
        return gcd(*self.intervals) if self.intervals else None

    def due(self, tick: int) -> bool:
        """Whether a reading at this tick is wanted."""
        return not self.intervals or any(tick % interval == 0 for interval in self.intervals)

    def __str__(self) -> str:
        parts = [", ".join(sorted(self.columns)) or "()"]
        parts += [f"WHERE {self.predicate}"] if self.predicate is not None else []
        parts += [f"EVERY {' OR '.join(map(format_duration, self.intervals))}"] if self.intervals else []
        parts += [f"AS {self.aggregate}"] if self.aggregate is not None else []
        if self.sensors is not None:
            parts.append("FROM {" + ", ".join(sorted(map(str, self.sensors))) + "}")
        return "; ".join(parts)


MANY = 16
"""The filters of more queries are not combined: a sensor that evaluates them all saves nothing, and comparing each
with each takes the gateway longer the more there are. The sensors then send what they measure."""


def combine(demands: Iterable[Demand]) -> Demand | None:
    """The least demand that serves all of them; None if there are none: sleep."""
    found = list(demands)
    if not found:
        return None
    as_they_come = any(not demand.intervals for demand in found)
    return Demand(
        intervals=() if as_they_come else least_intervals(i for demand in found for i in demand.intervals),
        columns=frozenset().union(*(demand.columns for demand in found)),
        predicate=None if len(found) > MANY else union([demand.predicate for demand in found]),
        aggregate=_summary(found),
        sensors=None
        if any(demand.sensors is None for demand in found)
        else frozenset().union(*(demand.sensors or frozenset() for demand in found)),
    )


def _summary(demands: list[Demand]) -> Summary | None:
    """The coarsest summary that serves all demands; only if all aggregate exactly the same readings."""
    same = {(demand.intervals, union([demand.predicate])) for demand in demands}
    summaries = [demand.aggregate for demand in demands if demand.aggregate is not None]
    if len(same) > 1 or len(summaries) < len(demands):
        return None
    every = gcd(*(summary.every for summary in summaries))
    return Summary(every, frozenset().union(*(summary.aggregates for summary in summaries)))


def least_intervals(intervals: Iterable[int]) -> tuple[int, ...]:
    """The intervals without those whose ticks another one has anyway.

    >>> least_intervals([60, 7, 14, 7])
    (7, 60)
    """
    kept: list[int] = []
    for interval in sorted(set(intervals)):
        if all(other <= 0 or interval % other for other in kept):
            kept.append(interval)
    return tuple(kept)


def for_sensor(demand: Demand, sensor: int | str) -> Demand | None:
    """The demand on one sensor; None if nothing is asked of it. Conditions on `id` alone are decided here."""
    if demand.sensors is not None and sensor not in demand.sensors:
        return None
    left = []
    for part in conjuncts(demand.predicate):
        names = columns_of(part)
        if names and all(name.lower() == "id" for name in names):
            if evaluate(part, dict.fromkeys(names, sensor), None) is not True:
                return None
        else:
            left.append(part)
    return replace(demand, predicate=conjunction(left), sensors=frozenset((sensor,)))


def asks_for(demand: Demand, row: Mapping[str, Any], tick: int | None = None) -> bool:
    """Whether a reading (bare column names) is to be sent. A reading on which the filter fails is sent, so
    that its query reports the error.
    """
    if demand.predicate is None:
        return True
    try:
        return evaluate(demand.predicate, row, tick) is True
    except NilometerError:
        return True


# ---- unions of filters -----------------------------------------------------------------------------------------------


def union(predicates: Iterable[Expression | None]) -> Expression | None:
    """A filter that passes what any of them passes; None passes everything. A filter that implies another is
    left out.
    """
    kept: list[Expression] = []
    for predicate in predicates:
        if predicate is None:
            return None
        for part in _disjuncts(predicate):
            if any(implies(part, other) for other in kept):
                continue
            kept = [other for other in kept if not implies(other, part)]
            kept.append(part)
    if not kept:
        return None
    # In one order, whatever the order of the queries, so that the same demand is not sent to a sensor twice.
    kept.sort(key=str)
    return kept[0] if len(kept) == 1 else Call("or", tuple(kept), BOOLEAN)


def _disjuncts(predicate: Expression) -> tuple[Expression, ...]:
    match predicate:
        case Call("or", arguments):
            return tuple(part for argument in arguments for part in _disjuncts(argument))
        case _:
            return (predicate,)


def implies(strong: Expression, weak: Expression) -> bool:
    """Whether `weak` is provably true wherever `strong` is: by equal conditions, and by thresholds on one
    column.
    """
    parts = conjuncts(strong)
    if strong != weak and not all(_quiet(part) for part in parts):
        return False  # if it fails, it asks for the tuple, and the other may not
    return all(any(_part_implies(part, wanted) for part in parts) for wanted in conjuncts(weak))


def _quiet(part: Expression) -> bool:
    """Whether the condition cannot fail: no arithmetic and no function that could overflow."""
    calm = (*COMPARISONS, *LOGICAL, "is_null")
    return all(not isinstance(node, Call) or node.function in calm for node in walk(part))


def _part_implies(strong: Expression, weak: Expression) -> bool:
    if strong == weak:
        return True
    first, second = _threshold(strong), _threshold(weak)
    if first is None or second is None or first[0] != second[0]:
        return False
    (_, way, bound), (_, other, limit) = first, second
    match way, other:
        case (">" | ">=" | "=", ">") | (">", ">="):
            return bool(bound > limit or (bound == limit and way == ">"))
        case (">=" | "=", ">="):
            return bool(bound >= limit)
        case ("<" | "<=" | "=", "<") | ("<", "<="):
            return bool(bound < limit or (bound == limit and way == "<"))
        case ("<=" | "=", "<="):
            return bool(bound <= limit)
    return False


def _threshold(part: Expression) -> tuple[ColumnReference, str, Any] | None:
    """`column > constant` and similar conditions, with the column on the left."""
    match part:
        case Call(way, (ColumnReference() as column, Literal(value=value))) if way in MIRROR:
            found = column, way, value
        case Call(way, (Literal(value=value), ColumnReference() as column)) if way in MIRROR:
            found = column, MIRROR[way], value
        case _:
            return None
    return found if column.type.numeric and value is not None else None
