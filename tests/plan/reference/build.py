"""Plans by hand, in few words. Times are microseconds; small numbers do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nilometer.catalog.extents import Stream, Table, stream_columns
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import Call, ColumnReference, Expression, Literal
from nilometer.plan import logical
from nilometer.plan.reference import Feed, evaluate
from nilometer.plan.reference.evaluate import World, windows
from nilometer.plan.reference.watermark import query_watermark
from nilometer.types import BOOLEAN, INT, Column, Type

Items = tuple[Mapping[str, Any] | int, ...]


def pushed(name: str = "s", *, delay: int = 0, id_type: Type = INT, value: Type = INT) -> Stream:
    """A pushed stream of `time, id, v`."""
    return Stream(name, stream_columns((Column("v", value),), id_type), delay=delay)


def sensed(every: int, name: str = "s", *, delay: int = 0) -> Stream:
    """A sensed stream of `time, id, v`."""
    return Stream(name, stream_columns((Column("v", INT),)), every=every, delay=delay)


def stored(name: str = "t", /, **columns: Type) -> logical.Stored:
    """A table under its own name."""
    declared = tuple(Column(column, type_) for column, type_ in columns.items())
    return logical.Stored(Table(name, declared, "memory:"), name, declared)


def acquire(stream: Stream, alias: str | None = None) -> logical.Acquire:
    """All of a stream's columns, under its own name unless told."""
    return logical.Acquire(stream, alias or stream.name, stream.columns)


def reading(time: int, v: Any = None, id: int | str | None = 1) -> Mapping[str, Any]:
    """A tuple of `pushed` or `sensed`."""
    return {"time": time, "id": id, "v": v}


def column(name: str, type_: Type = INT) -> ColumnReference:
    return ColumnReference(name, type_)


def compare(left: Expression, function: str, right: Expression | int) -> Call:
    return Call(function, (left, right if isinstance(right, Expression) else Literal(right, INT)), BOOLEAN)


def keep(node: logical.Node, *names: str) -> logical.Project:
    """The projection on some columns, under their own names."""
    return logical.Project(
        node, tuple(logical.Projection(n, ColumnReference(n, node.schema[n].type)) for n in names)
    )


def now_window(node: logical.Node, slide: int | None = None) -> logical.TimeWindow:
    """[NOW SLIDE slide]."""
    return logical.TimeWindow(node, 0, 0, slide, False)


def range_window(node: logical.Node, length: int, slide: int | None = None) -> logical.TimeWindow:
    """[RANGE length SLIDE slide]."""
    return logical.TimeWindow(node, length, 0, slide, True)


def from_to(node: logical.Node, start: int, end: int, slide: int | None = None) -> logical.TimeWindow:
    """[FROM NOW - start TO NOW - end SLIDE slide]."""
    return logical.TimeWindow(node, start, end, slide, False)


def unbounded(node: logical.Node, slide: int | None = None) -> logical.TimeWindow:
    """[UNBOUNDED SLIDE slide]."""
    return logical.TimeWindow(node, None, 0, slide, False)


def rows_window(node: logical.Node, count: int | None, slide: int = 1) -> logical.RowWindow:
    """[RANGE count ROWS SLIDE slide ROWS]."""
    return logical.RowWindow(node, None if count is None else count - 1, 0, slide)


def aggregate(
    name: str, function: str, argument: Expression | None, type_: Type = INT
) -> logical.AggregateItem:
    return logical.AggregateItem(name, AggregateExpression(function, argument, False, type_))


COUNT = aggregate("count", "count", None)


def feeds(**items: Items | list[Any]) -> dict[str, Feed]:
    """Logs by the stream's name."""
    return {name: Feed(tuple(log)) for name, log in items.items()}


def run(
    plan: logical.Node, *, finished: bool = True, tables: Any = None, **items: Items | list[Any]
) -> list[Any]:
    """The rows of the answer; rows of one column as bare values."""
    rows = evaluate(plan, feeds(**items), tables, finished=finished).rows
    return [row[0] if len(row) == 1 else row for row in rows]


def evaluations(
    node: logical.Node,
    column_name: str,
    *,
    finished: bool = True,
    tables: Any = None,
    **items: Items | list[Any],
) -> list[tuple[int, list[Any]]]:
    """The evaluations of windows, also the empty ones: the tick, and the values of one column, sorted."""
    logs = feeds(**items)
    world = World(logs, tables or {}, {}, query_watermark(node, logs, finished))
    return [
        (e.tick, sorted((values[column_name] for values in e.bag), key=lambda v: (v is not None, v)))
        for e in windows(node, world)
    ]
