"""Properties of the sources of a stream's tuples: the type of their ids, and their acquisition interval."""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.algebra.grid import Grid
from nilometer.plan import physical
from nilometer.types import INT, Type


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


def acquisition_interval(node: physical.Node) -> int | None:
    """The interval of a sensed extent, also after filters, projections, LAG, SAMPLE and joins with tables;
    None for other streams."""
    match node:
        case physical.SpAcquire(stream=stream):
            return stream.every
        case (
            physical.Select()
            | physical.Project()
            | physical.Rename()
            | physical.Unnest()
            | physical.Exchange()
            | physical.Lag()
            | physical.Sample()
            | physical.Analytic()
            | physical.Limit()
        ):
            return acquisition_interval(node.inputs[0])
        case physical.NlJoin(left=left, right=right) | physical.HashJoin(left=left, right=right):
            if node.collection is not Collection.STREAM:
                return None
            return acquisition_interval(left if left.collection is Collection.STREAM else right)
        case _:
            return None
