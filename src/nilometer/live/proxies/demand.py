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
from nilometer.expressions import Aggregate, Call, Expression, columns_of, conjunction, conjuncts
from nilometer.live.proxies.filter_unions import union
from nilometer.plan.scalar import evaluate
from nilometer.plan.summaries import Summary
from nilometer.types import format_duration


@dataclass(frozen=True)
class Demand:
    """The demand on a stream. `intervals` are sorted, and none is a multiple of another; without any, readings are
    wanted as they come. `predicate` None: all readings (else over bare column names). `aggregate` None: the readings
    themselves. `sensors` None: all sensors. `heartbeat`: a silent sensor may wait so long before it says that time goes
    on, because no answer is due earlier; 0: as long as the gateway's setting says. `begins`: the query's answers depend on
    when the stream began for it, so each sensor owes it a first reading. `changes`: within panes of this length, a
    reading whose `columns` are those of the one sent before adds nothing. `grid`: a sensed stream rounds times down to
    its multiples.
    """

    intervals: tuple[int, ...]
    columns: frozenset[str]
    predicate: Expression | None = None
    aggregate: Summary | None = None
    sensors: frozenset[int | str] | None = None
    heartbeat: int = 0
    begins: bool = True
    changes: int | None = None
    grid: int | None = None

    def __post_init__(self) -> None:
        if any(interval <= 0 for interval in self.intervals):
            raise ValueError("a sample interval is positive")
        if self.intervals != least_intervals(self.intervals):
            raise ValueError("sample intervals are sorted, and none is a multiple of another")

    @property
    def interval(self) -> int | None:
        """The one interval that serves all, for sensors that know of no sets; None: as they come."""
        return gcd(*self.intervals) if self.intervals else None

    @property
    def summary(self) -> Summary | None:
        """The summary that sensors are asked for; None if they are to send readings."""
        return self.aggregate if self.aggregate is not None and self.aggregate.columns is not None else None

    @property
    def thins(self) -> bool:
        """Whether a sensor that obeys sends fewer messages than it takes readings."""
        return self.predicate is not None or self.summary is not None or self.changes is not None

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


def combine(demands: Iterable[Demand]) -> Demand | None:
    """The least demand that serves all of them; None if there are none: sleep."""
    found = list(demands)
    if not found:
        return None
    if len(found) == 1 and not (isinstance(found[0].predicate, Call) and found[0].predicate.function == "or"):
        return found[0]
    as_they_come = any(not demand.intervals for demand in found)
    return Demand(
        intervals=() if as_they_come else least_intervals(i for demand in found for i in demand.intervals),
        columns=frozenset().union(*(demand.columns for demand in found)),
        predicate=union(demand.predicate for demand in found),
        aggregate=_summary(found),
        sensors=None
        if any(demand.sensors is None for demand in found)
        else frozenset().union(*(demand.sensors or frozenset() for demand in found)),
        heartbeat=min(demand.heartbeat for demand in found),
        begins=any(demand.begins for demand in found),
        changes=_changes(found),
        grid=found[0].grid,
    )


def _summary(demands: list[Demand]) -> Summary | None:
    """The coarsest summary that serves all demands; only if all aggregate exactly the same readings."""
    same = {(demand.intervals, union([demand.predicate])) for demand in demands}
    summaries = [demand.aggregate for demand in demands if demand.aggregate is not None]
    if len(same) > 1 or len(summaries) < len(demands):
        return None
    kinds = {(summary.of, summary.grid) for summary in summaries}
    if len(kinds) > 1:
        return None
    every = gcd(*(summary.every for summary in summaries))
    aggregates = frozenset[Aggregate]().union(*(summary.aggregates for summary in summaries))
    return Summary(every, aggregates, *kinds.pop())


def _changes(demands: list[Demand]) -> int | None:
    """The panes in which repeated values add nothing to any of the demands. The combination has the columns of all."""
    panes = [demand.changes for demand in demands]
    return None if None in panes else gcd(*(pane for pane in panes if pane is not None))


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
