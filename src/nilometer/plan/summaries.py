"""Which summary of a sensor's readings is enough for a query, and the columns of summaries in a stream's log.

    AGGR_INIT [avg] · TIME_WINDOW [RANGE r SLIDE d] · SP_ACQUIRE [s; x; WHERE p]     sum and count of x per gcd(r, d)

The law: a summary stands for readings that are in no other message and lie in one pane `k * every < tick <= (k + 1) *
every`. So an aggregate of readings and summaries is that of all the readings, and windows that begin and end at pane
edges cannot tell the difference (docs/decisions/20261118-summaries-from-sensors.md).

>>> from nilometer.catalog.extents import stream_columns
>>> from nilometer.types import Column
>>> stream = Stream("air", stream_columns((Column("pm25", FLOAT),)))
>>> [name for name in summary_columns(stream) if name.startswith("pm25")]
['pm25#count', 'pm25#sum', 'pm25#low', 'pm25#min', 'pm25#max']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from math import gcd

from nilometer.algebra.summary import FROM, OF, PARTS, READINGS
from nilometer.catalog.extents import Stream
from nilometer.expressions import (
    Aggregate,
    ColumnReference,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    transform,
    uses_now,
)
from nilometer.plan import physical
from nilometer.types import FLOAT, INT, STRING, TIME, Kind, Type, format_duration

COUNT = Aggregate("count", None, False, INT)

_NEEDS = {"count": ("count",), "sum": ("count", "sum"), "avg": ("count", "sum"), "min": ("count", "min"), "max": ("count", "max")}  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """A query needs only these aggregates of a sensor's readings in each pane, `k * every < tick <= (k + 1) *
    every`. Their arguments read the stream's bare columns. `of` is a token of the readings that are summarised: those
    of a filter, at some intervals. `grid`: the interval to which a sensed stream rounds times down.
    """

    every: int
    aggregates: frozenset[Aggregate]
    of: str = ""
    grid: int | None = None

    @property
    def columns(self) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
        """The columns that a sensor must summarise, each with its parts; None if a sensor cannot: it knows neither
        expressions nor deviations."""
        found: dict[str, set[str]] = {}
        for aggregate in self.aggregates:
            argument = aggregate.argument
            if aggregate.distinct or aggregate.function not in _NEEDS:
                return None
            if argument is None:
                continue
            if not isinstance(argument, ColumnReference) or not summarised(argument.type):
                return None
            if argument.name.lower() in ("id", "time"):
                return None
            found.setdefault(argument.name, set()).update(_NEEDS[aggregate.function])
        return tuple((name, tuple(sorted(parts))) for name, parts in sorted(found.items()))

    def __str__(self) -> str:
        return f"{', '.join(sorted(map(str, self.aggregates)))} PER {format_duration(self.every)}"


@dataclass(frozen=True)
class Asked:
    """What a leaf of a plan asks of its stream's sensors: the interval (None: as readings come), the part of its
    filter that a sensor knows, and the summary that would do. `changes`: within panes of this length, a reading adds
    nothing to one with the same values."""

    interval: int | None
    predicate: Expression | None
    summary: Summary | None
    changes: int | None = None


def parts_wanted(columns: Iterable[tuple[str, tuple[str, ...]]]) -> frozenset[Aggregate]:
    """Aggregates that need exactly these parts of these columns, whose types no longer matter."""
    wanted = {
        Aggregate(part, ColumnReference(name, FLOAT), False, FLOAT)
        for name, parts in columns
        for part in parts
    }
    return frozenset(wanted or {COUNT})


def summarised(type: Type) -> bool:
    """Whether a sensor can summarise values of this type."""
    return type.kind in (Kind.INT, Kind.FLOAT)


def summary_columns(stream: Stream) -> dict[str, Type]:
    """The columns of summaries of a stream, with their types."""
    names = {column.name.lower(): column for column in stream.columns}
    columns: dict[str, Type] = {names["time"].name: TIME, names["id"].name: names["id"].type}
    columns |= {FROM: TIME, OF: STRING, READINGS: INT}
    for column in stream.columns:
        if column.name.lower() not in ("id", "time") and summarised(column.type):
            for part in PARTS:
                whole = part == "count" or (column.type.kind is Kind.INT and part != "low")
                columns[f"{column.name}#{part}"] = INT if whole else FLOAT
    return columns


def asked(leaf: physical.SpAcquire, above: tuple[physical.Node, ...]) -> Asked:
    """The demand of a leaf. `above` are its ancestors, nearest first."""
    interval = leaf.stream.interval
    known = {column.name for column in leaf.stream.columns}
    parts = [bare(part, leaf.alias) for part in conjuncts(leaf.predicate)]
    pushed = [part for part in parts if columns_of(part) <= known and not uses_now(part)]
    if above and isinstance(above[0], physical.Sample):
        sample = above[0]
        if not parts and interval is not None and sample.every % interval == 0:
            interval = sample.every
        # SAMPLE takes the first reading of each interval, so it must see each one that a sensor may send.
        return Asked(interval, conjunction(pushed), None)
    elif above and isinstance(above[0], physical.TimeWindow):
        interval = _seen_by(above[0], leaf.stream) or interval
    summary = _summary(leaf, above, interval, known, pushed) if len(pushed) == len(parts) else None
    return Asked(interval, conjunction(pushed), summary, _changes(above, interval))


def bare(expression: Expression, alias: str) -> Expression:
    """The expression over the stream's own column names."""

    def change(part: Expression) -> Expression:
        if isinstance(part, ColumnReference):
            return ColumnReference(part.name.removeprefix(f"{alias}."), part.type)
        return part

    return transform(expression, change)


def _seen_by(window: physical.TimeWindow, stream: Stream) -> int | None:
    """The interval of the only ticks that a window of single ticks sees: `[NOW SLIDE 1 MINUTE]` sees one a minute.

    A pushed reading has any time, so only a sensed stream can be told. `[AT NOW - 5 SECONDS SLIDE 1 MINUTE]` sees
    ticks that are no multiples of its slide."""
    every, slide = stream.every, window.slide
    single = window.start == window.end and not window.open_start and window.grid is None
    if not single or every is None or slide is None or slide % every or window.end % slide:
        return None
    return slide


def _summary(
    leaf: physical.SpAcquire,
    above: tuple[physical.Node, ...],
    interval: int | None,
    known: set[str],
    filters: list[Expression],
) -> Summary | None:
    """The panes and aggregates that are enough; None if the tuples themselves are needed, or a pane holds one
    reading.
    """
    match above:
        case (physical.TimeWindow() as window, physical.AggregateInit() as aggregate, *_):
            pass
        case _:
            return None
    every = _pane(window)
    if every is None:
        return None
    # A sensor can group by values that are the same for all its readings: its id and its static attributes.
    varying = {name for name in known if name.lower() != "id"}
    if any(columns_of(bare(key.expression, leaf.alias)) & varying for key in aggregate.keys):
        return None
    expressions = [item.aggregate for item in aggregate.items]
    if any(columns_of(bare(e, leaf.alias)) - known or uses_now(e) for e in expressions):
        return None
    if interval is not None and every <= interval:
        return None
    wanted = {found for e in expressions if isinstance(found := bare(e, leaf.alias), Aggregate)}
    # An aggregate without items still tells which groups there are, and completeness counts.
    wanted = wanted or {COUNT}
    of = token(interval, filters)
    return Summary(
        every, frozenset(wanted) | ({COUNT} if aggregate.completeness else set()), of, leaf.stream.every
    )


def _pane(window: physical.TimeWindow) -> int | None:
    """The length of the panes at whose edges a window begins and ends; None if it has none."""
    closed = (
        window.start is not None and not window.open_start
    )  # [T - start, T - end] is not a union of panes
    if window.slide is None or closed or window.grid is not None:
        return None
    return gcd(window.slide, window.end, *(() if window.start is None else (window.start,)))


def _changes(above: tuple[physical.Node, ...], interval: int | None) -> int | None:
    """The panes in which only a reading with other values than before matters: all aggregates are idempotent."""
    match above:
        case (
            physical.TimeWindow() as window,
            physical.Aggregate() | physical.AggregateInit() as aggregate,
            *_,
        ):
            pass
        case _:
            return None
    items = [item.aggregate for item in aggregate.items]
    if aggregate.completeness or not all(each.distinct or each.function in ("min", "max") for each in items):
        return None
    if any(uses_now(each) for each in (*items, *(key.expression for key in aggregate.keys))):
        return None
    every = _pane(window)
    return None if every is None or (interval is not None and every <= interval) else every


def token(interval: int | None, filters: Iterable[Expression]) -> str:
    """A short name of the readings that are taken at an interval and satisfy all filters. Conditions on the id alone
    choose sensors, not readings."""
    texts = sorted(
        str(part) for part in filters if any(name.lower() != "id" for name in columns_of(part) or {""})
    )
    return sha256(f"{interval} {' AND '.join(texts)}".encode()).hexdigest()[:8]
