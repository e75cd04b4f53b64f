"""Properties of the sources of a stream's tuples: the type of their ids, and the grid of their windows."""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.algebra.grid import Grid
from nilometer.plan import physical
from nilometer.types import INT, Kind, Type


def source_type(node: physical.Node) -> Type | None:
    """The type of a stream's ids; None if its tuples have no source, as after a window join or RSTREAM."""
    match node:
        case physical.SpAcquire(stream=stream):
            return stream.id_type.plain
        case physical.TableFunction(call=call):
            return call.source_type(node.input.schema)
        case physical.Union(left=left, right=right):
            kinds = [kind for side in (left, right) if (kind := source_type(side)) is not None]
            return kinds[0] if len(set(kinds)) == 1 else None
        case physical.WindowJoin() | physical.RStream() | physical.IStream() | physical.DStream():
            return None
        case physical.NlJoin(left=left, right=right) | physical.HashJoin(left=left, right=right):
            return source_type(left if left.collection is Collection.STREAM else right)
        case _:
            return source_type(node.inputs[0])


def id_type(node: physical.Node) -> Type:
    """The type of a stream's `@id`. If all ids are NULL, it is INT."""
    return source_type(node) or INT


def grid_of(window: physical.TimeWindow) -> Grid | None:
    """The grid of a window, over the streams below it."""
    if window.grid is None:
        return None
    leaves = (node for node in physical.walk_plan(window) if isinstance(node, physical.SpAcquire))
    return window.grid.over(leaf.stream.delay for leaf in leaves)


def time_column(node: physical.Node) -> str | None:
    """The column of a stream that holds the time of each tuple; None if it is not known to. The tuples of one source then
    have the same order by this column and by ticks."""
    match node:
        case physical.SpAcquire():
            name = f"{node.alias}.time"
            return name if any(c.name == name and c.type.kind is Kind.TIME for c in node.schema) else None
        case physical.Project(input=input, items=items):
            before = time_column(input)
            return next((i.name for i in items if before is not None and str(i.expression) == before), None)
        case physical.Rename(input=input):
            before = time_column(input)
            columns = zip(node.schema.names, input.schema.names, strict=True)
            return next((new for new, old in columns if old == before), None)
        case physical.NlJoin(left=left, right=right) | physical.HashJoin(left=left, right=right):
            kinds = {left.collection, right.collection}
            if kinds != {Collection.STREAM, Collection.TABLE}:
                return None
            return time_column(left if left.collection is Collection.STREAM else right)
        case (
            physical.Select()
            | physical.Exchange()
            | physical.Unnest()
            | physical.Lag()
            | physical.Sample()
            | physical.Analytic()
            | physical.Limit()
        ):
            before = time_column(node.inputs[0])
            return before if before in node.schema.names else None
        case _:
            return None
