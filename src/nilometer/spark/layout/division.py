"""A plan -> the keys by which its streams can be divided among buckets, so that every bucket answers for its rows alone.

From the top down, each node is told on what the bucket of a row of its output may depend: on anything, or on some expressions of
a *vector*, the same ones everywhere. A node that brings rows together (a grouped aggregate, a join with equal keys, LAG by
source, ...) turns "anything" into the vector of its own keys. A vector is put in terms of the node's inputs (below.py);
expressions without an equal there drop out. What is left at all the leaves are the keys; if nothing is left, the plan is not
divided.

- Evaluations must be the same in every bucket. Those of a window with SLIDE, or over a sensed stream, depend on the clock alone.
  Others are at the ticks that have a row: [NOW] is divided all the same, where nobody asks which evaluations there were.
- Tables are in every bucket.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nilometer.edge.gateway.lowering.sources_of import acquisition_interval
from nilometer.expressions import ColumnReference, Expression
from nilometer.plan import physical
from nilometer.plan.logical import Collection
from nilometer.spark.layout.below import below, own_keys
from nilometer.spark.layout.reading import in_reader, joins_table, streamed_side
from nilometer.spark.layout.rewriting import dividing, has_source, source_of

Vector = tuple[Expression | None, ...]


@dataclass(frozen=True)
class Division:
    """Left to right: for each leaf (what a reader runs, or an exchange) the keys over its rows, and for each SILENT those over
    its own rows."""

    leaves: tuple[tuple[Expression, ...], ...]
    silents: tuple[tuple[Expression, ...], ...] = ()


class UndividedError(Exception):
    """A plan that cannot be divided: which node cannot, and why."""

    def __init__(self, node: physical.Node, reason: str) -> None:
        super().__init__(f"{node.operator} {reason}")
        self.node = node
        self.reason = reason


def divide_plan(plan: physical.Node) -> Division:
    """The keys that divide a plan; raises UndividedError."""
    found = _by_anything(plan, listed=False)
    return Division(tuple(map(_present, found.leaves)), tuple(map(_present, found.silents)))


def _present(vector: Vector) -> tuple[Expression, ...]:
    return tuple(expression for expression in vector if expression is not None)


@dataclass(frozen=True)
class _Found:
    """What vectors have come to, at the leaves and at the SILENTs."""

    leaves: tuple[Vector, ...] = ()
    silents: tuple[Vector, ...] = ()

    @property
    def all(self) -> tuple[Vector, ...]:
        return self.leaves + self.silents

    def only(self, places: list[int]) -> _Found:
        """These places of every vector."""
        leaves = tuple(tuple(vector[place] for place in places) for vector in self.leaves)
        return _Found(leaves, tuple(tuple(vector[place] for place in places) for vector in self.silents))


def _together(parts: Iterable[_Found]) -> _Found:
    found = list(parts)
    leaves = tuple(vector for part in found for vector in part.leaves)
    return _Found(leaves, tuple(vector for part in found for vector in part.silents))


def is_leaf(node: physical.Node) -> bool:
    """Whether its rows come from elsewhere: from a reader, or through an exchange."""
    return isinstance(node, physical.Exchange) or in_reader(node)


# ---- anything may decide on the bucket -------------------------------------------------------------------------------


def _by_anything(node: physical.Node, listed: bool) -> _Found:
    """`listed`: what is above must know of every evaluation, also of those without a row."""
    if is_leaf(node):
        return _Found((_spread(node),))
    match node:
        case physical.Union():
            listed = _compares_evaluations(node)
            return _together(_by_anything(child, listed) for child in node.inputs)
        case physical.NlJoin() | physical.HashJoin() if joins_table(node):
            return _by_anything(streamed_side(node), listed)
        case physical.TimeWindow():
            _check_evaluations(node, listed)
            return _by_anything(node.input, False)
        case (
            physical.Select()
            | physical.Project()
            | physical.Rename()
            | physical.Deliver()
            | physical.RStream()
            | physical.AggregateInit()
        ):
            return _by_anything(node.input, listed)
        case _:
            return _by_own_keys(node, listed)


def _spread(node: physical.Node) -> Vector:
    """What spreads the rows of a leaf, where anything will do."""
    if has_source(node):
        return (source_of(node),)
    return tuple(ColumnReference(column.name, column.type) for column in node.schema)


def _by_own_keys(node: physical.Node, listed: bool) -> _Found:
    keys = own_keys(node)
    if not keys:
        raise UndividedError(node, _need(node))
    found = _by(node, keys, listed)
    kept = [place for place in range(len(keys)) if all(vector[place] is not None for vector in found.all)]
    if not kept:
        raise UndividedError(node, "has no key that divides all that is below it")
    return found.only(kept)


# ---- a vector decides on the bucket ----------------------------------------------------------------------------------


def _by(node: physical.Node, vector: Vector, listed: bool) -> _Found:
    if is_leaf(node):
        return _Found((vector,))
    if isinstance(node, physical.TimeWindow):
        _check_evaluations(node, listed)
    windows = any(child.collection is Collection.WINDOWS for child in node.inputs)
    listed = windows and (listed or _compares_evaluations(node))
    table = joins_table(node)
    parts = []
    for port, child in enumerate(node.inputs):
        if table and child.collection is Collection.TABLE:
            continue
        pushed = tuple(None if key is None else dividing(below(node, port, key)) for key in vector)
        if not any(pushed):
            raise UndividedError(node, _need(node) if not own_keys(node) else "has keys of its own")
        parts.append(_by(child, pushed, listed))
    found = _together(parts)
    return _Found(found.leaves, (vector, *found.silents)) if isinstance(node, physical.Silent) else found


def _compares_evaluations(node: physical.Node) -> bool:
    """Whether a missing evaluation would change the answer, though it has no rows: the one before it would stand for it."""
    match node:
        case physical.IStream() | physical.DStream():
            return True
        case physical.Union() | physical.NlJoin() | physical.HashJoin():
            return node.left.collection is node.right.collection is Collection.WINDOWS
        case _:
            return False


def _check_evaluations(node: physical.TimeWindow, listed: bool) -> None:
    if node.slide is not None or acquisition_interval(node.input) is not None:
        return
    now = node.start == 0 and node.end == 0 and not node.open_start
    if listed or not now:
        raise UndividedError(node, "is evaluated at the ticks of all tuples")


def _need(node: physical.Node) -> str:
    """Why an operator needs all rows."""
    match node:
        case physical.RowWindow():
            return "counts the rows of all sources"
        case physical.SnJoin():
            return "compares tuples of all sources that are nearly alike"
        case physical.Aggregate() | physical.AggregateEvaluate() | physical.AggregateMerge():
            return "is one group of all rows"
        case physical.NlJoin() | physical.HashJoin() | physical.AsofJoin() | physical.WindowJoin():
            return "has no equality between its inputs"
        case _:
            return "cannot be divided by what is above it"
