"""Lowers SELECT, PROJECT, RENAME, EXCHANGE and DELIVER to transforms, fused into the stage below them."""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.stages import Transform, pick
from nilometer.operators.evaluate.evaluate import compile_predicate, compile_projection
from nilometer.operators.logic import STREAM_COLUMNS, TICK, WINDOW_COLUMNS
from nilometer.operators.unnest import Unnesting
from nilometer.plan.physical import Deliver, Exchange, Node, Project, Rename, Select, Unnest

SYSTEM: dict[Collection, tuple[str, ...]] = {
    Collection.STREAM: STREAM_COLUMNS,
    Collection.WINDOWS: WINDOW_COLUMNS,
    Collection.TABLE: (),
}
"""The system columns of each collection."""


def select(node: Select, flow: Dataflow) -> int:
    """The rows for which the predicate is true."""
    return flow.fuse(flow.lower(node.input), transform_of(node))


def project(node: Project, flow: Dataflow) -> int:
    """Computed columns behind the system columns."""
    return flow.fuse(flow.lower(node.input), transform_of(node))


def rename(node: Rename, flow: Dataflow) -> int:
    """The same columns under an alias."""
    return flow.fuse(flow.lower(node.input), transform_of(node))


def unnest(node: Unnest, flow: Dataflow) -> int:
    """A row for each element of a list."""
    return flow.fuse(flow.lower(node.input), transform_of(node))


def exchange(node: Exchange, flow: Dataflow) -> int:
    """Adds nothing: in one process no rows are exchanged."""
    return flow.lower(node.input)


def deliver(node: Deliver, flow: Dataflow) -> int:
    """The visible columns, after the tick if it is asked for."""
    names = {"tick": TICK} if node.tick else {}
    names |= {name: name for name in node.schema.names}
    return flow.fuse(flow.lower(node.input), lambda rows: pick(rows, names))


def transform_of(node: Node) -> Transform:
    """The function that a stateless node applies to rows."""
    match node:
        case Select(predicate=predicate):
            return compile_predicate(predicate)
        case Project(items=items):
            projector = compile_projection((item.name, item.expression) for item in items)
            system = SYSTEM[node.collection]
            return lambda rows: projector.of_sound(rows, system)
        case Rename():
            names = dict(zip(node.input.schema.names, node.schema.names, strict=True))
            return lambda rows: rows.rename(names)
        case Unnest(name=name, expression=expression, dropped=dropped):
            return Unnesting(name, expression, node.collection is Collection.STREAM, dropped=dropped)
    raise AssertionError(f"{node.operator} is not stateless")
