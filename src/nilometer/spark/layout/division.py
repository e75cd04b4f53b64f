"""Finds the keys by which a plan's streams can be divided among buckets, so that every bucket answers for its
own rows alone.

From the top down, each node is told on what the bucket of an output row may depend: on anything, or on some
expressions of a *vector*, the same ones everywhere. A node that brings rows together (a grouped aggregate, a
join with equal keys, LAG by source, ...) turns "anything" into the vector of its own keys. A vector is
translated into terms of the node's inputs (below.py); expressions without an equal there drop out. The
expressions left at all the leaves are the keys. If none is left, the plan is not divided.

- Evaluations must be the same in every bucket. Those of a window with SLIDE, or over a sensed stream, depend on
  the clock alone. Others are at the ticks that have a row, so every bucket is told the ticks of all rows of the leaf below
  such a window. [NOW] needs to be told only if a node asks which evaluations there were.
- Tables are in every bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from nilometer.algebra import Collection, JoinKind
from nilometer.algebra.table_function import Undivided
from nilometer.dataflow.ticks import by_the_clock
from nilometer.expressions import ColumnReference, Expression
from nilometer.plan import physical
from nilometer.spark.layout.below import below, equalities, own_keys
from nilometer.spark.layout.grid import Grid, grid_of
from nilometer.spark.layout.nodes import StageCombine
from nilometer.spark.layout.reading import in_reader, joins_table, streamed_side
from nilometer.spark.layout.rewriting import dividing, has_source, source_of
from nilometer.spark.layout.stripes import Stripes, stripes_of

Vector = tuple[Expression | None, ...]
Copying = Stripes | Grid | None


@dataclass(frozen=True)
class Division:
    """The keys of a plan, from left to right: for each leaf (a reader's part, or an exchange) the keys over
    its rows, and for each function that expects the declared sensors (SILENT) the keys over its own rows. A
    leaf with stripes has one key, and its rows go to all stripes within reach of its values (stripes.py); one in a grid may
    have copies, too (grid.py). The ticks of a leaf's rows are told to all buckets if a window is evaluated at them.
    """

    leaves: tuple[tuple[Expression, ...], ...]
    sensors: tuple[tuple[Expression, ...], ...] = ()
    copying: tuple[Copying, ...] = ()
    told: tuple[bool, ...] = ()


class UndividedError(Exception):
    """A plan that cannot be divided: the node that prevents it, and why."""

    def __init__(self, node: physical.Node, reason: str) -> None:
        super().__init__(f"{node.operator} {reason}")
        self.node = node
        self.reason = reason


def divide_plan(plan: physical.Node) -> Division:
    """The keys that divide a plan; raises UndividedError."""
    found = _by_anything(plan, listed=False)
    return Division(
        tuple(map(_present, found.leaves)),
        tuple(map(_present, found.sensors)),
        found.all_copying,
        found.all_told,
    )


def _present(vector: Vector) -> tuple[Expression, ...]:
    return tuple(expression for expression in vector if expression is not None)


@dataclass(frozen=True)
class _Found:
    """The vectors that have arrived at the leaves, and at the functions that expect sensors."""

    leaves: tuple[Vector, ...] = ()
    sensors: tuple[Vector, ...] = ()
    copying: tuple[Copying, ...] | None = None
    told: tuple[bool, ...] | None = None

    @property
    def all_told(self) -> tuple[bool, ...]:
        """Whether the ticks of each leaf are told to all buckets."""
        return self.told if self.told is not None else (False,) * len(self.leaves)

    @property
    def all_copying(self) -> tuple[Copying, ...]:
        """How the rows of each leaf are copied."""
        return self.copying if self.copying is not None else (None,) * len(self.leaves)

    @property
    def all(self) -> tuple[Vector, ...]:
        return self.leaves + self.sensors

    def only(self, places: list[int]) -> _Found:
        """Only these places of every vector."""
        leaves = tuple(tuple(vector[place] for place in places) for vector in self.leaves)
        sensors = tuple(tuple(vector[place] for place in places) for vector in self.sensors)
        return replace(self, leaves=leaves, sensors=sensors)


def _together(parts: Iterable[_Found]) -> _Found:
    found = list(parts)
    leaves = tuple(vector for part in found for vector in part.leaves)
    sensors = tuple(vector for part in found for vector in part.sensors)
    copying = tuple(each for part in found for each in part.all_copying)
    return _Found(leaves, sensors, copying, tuple(each for part in found for each in part.all_told))


def is_leaf(node: physical.Node) -> bool:
    """Whether its rows come from elsewhere: from a reader, or through an exchange."""
    return isinstance(node, physical.Exchange) or in_reader(node)


def leaves(plan: physical.Node) -> Iterator[physical.Node]:
    """The leaves of a plan, from left to right."""
    if is_leaf(plan):
        yield plan
        return
    for child in plan.inputs:
        yield from leaves(child)


# ---- anything may decide on the bucket -------------------------------------------------------------------------------


def _by_anything(node: physical.Node, listed: bool) -> _Found:
    """The bucket may depend on anything. `listed`: the nodes above must know of every evaluation, even of
    those without rows.
    """
    if is_leaf(node):
        return _Found((_spread(node),))
    match node:
        case physical.Union():
            listed = _compares_evaluations(node)
            return _together(_by_anything(child, listed) for child in node.inputs)
        case physical.NlJoin() | physical.HashJoin() if joins_table(node):
            return _by_anything(streamed_side(node), listed)
        case physical.TimeWindow():
            return _evaluated(node, _by_anything(node.input, False), listed)
        case StageCombine():
            # The window below it is evaluated in the next stage.
            return _by_anything(_window_below(node).input, False)
        case (
            physical.Select()
            | physical.Project()
            | physical.Rename()
            | physical.Unnest()
            | physical.Deliver()
            | physical.RStream()
            | physical.AggregateInit()
        ):
            return _by_anything(node.input, listed)
        case _:
            return _by_own_keys(node, listed)


def _spread(node: physical.Node) -> Vector:
    """A key that spreads the rows of a leaf, if any key will do."""
    if has_source(node):
        return (source_of(node),)
    return tuple(ColumnReference(column.name, column.type) for column in node.schema)


def _by_own_keys(node: physical.Node, listed: bool) -> _Found:
    keys = own_keys(node)
    if not keys or _preserves_table(node):
        return _by_copies(node, listed)
    full = isinstance(node, physical.HashJoin | physical.WindowJoin) and node.kind is JoinKind.FULL
    found = _by_equal_keys(node, keys, listed) if full else _by(node, keys, listed)
    kept = [place for place in range(len(keys)) if all(vector[place] is not None for vector in found.all)]
    if not kept:
        raise UndividedError(node, "has no key that divides all that is below it")
    return found.only(kept)


def _by_equal_keys(node: physical.Node, keys: Vector, listed: bool) -> _Found:
    """Divide a FULL join by its own keys: the rows of each side by the side's own expressions."""
    listed = _lists(node, listed)
    parts = []
    for port, child in enumerate(node.inputs):
        columns = frozenset(child.schema.names)
        pushed = tuple(dividing(equalities(node).over(key, port, columns)) for key in keys)
        parts.append(_by(child, pushed, listed))
    return _together(parts)


def _preserves_table(node: physical.Node) -> bool:
    return isinstance(node, physical.NlJoin | physical.HashJoin) and node.preserves_table


def _by_copies(node: physical.Node, listed: bool) -> _Found:
    """Divide by values that are near each other in the rows that the node joins, or by keys that not all of its inputs have."""
    placed = _placed(node)
    if placed is None:
        raise UndividedError(node, _need(node))
    listed = _lists(node, listed)
    parts = []
    for child, (keys, copying) in zip(node.inputs, placed, strict=True):
        found = _by(child, tuple(map(dividing, keys)), listed)
        if found.sensors or any(None in vector for vector in found.leaves):
            raise UndividedError(node, "joins by a value that divides not all that is below it")
        parts.append(replace(found, copying=(copying,) * len(found.leaves)))
    return _together(parts)


def _placed(node: physical.Node) -> tuple[tuple[tuple[Expression, ...], Stripes | Grid], ...] | None:
    """The keys of each input, and how its rows are copied."""
    striped = stripes_of(node)
    if striped is not None:
        return tuple(((value,), stripes) for value, stripes in striped)
    return grid_of(node)


# ---- a vector decides on the bucket ----------------------------------------------------------------------------------


def _by(node: physical.Node, vector: Vector, listed: bool) -> _Found:
    if is_leaf(node):
        return _Found((vector,))
    if _preserves_table(node):
        raise UndividedError(node, _need(node))
    below_listed = _lists(node, listed)
    table = joins_table(node)
    parts = []
    for port, child in enumerate(node.inputs):
        if table and child.collection is Collection.TABLE:
            continue
        pushed = tuple(None if key is None else dividing(below(node, port, key)) for key in vector)
        if not any(pushed):
            raise UndividedError(node, _need(node) if not own_keys(node) else "has keys of its own")
        parts.append(_by(child, pushed, below_listed))
    found = _together(parts)
    if isinstance(node, physical.TimeWindow):
        return _evaluated(node, found, listed)
    if isinstance(node, physical.TableFunction) and node.call.function.sensors:
        return replace(found, sensors=(vector, *found.sensors))
    return found


def _lists(node: physical.Node, listed: bool) -> bool:
    """Whether a node must know of every evaluation of its inputs, for itself or for the nodes above it."""
    windows = any(child.collection is Collection.WINDOWS for child in node.inputs)
    return windows and (listed or _compares_evaluations(node))


def _compares_evaluations(node: physical.Node) -> bool:
    """Whether a missing evaluation without rows would change the answer, because the one before it would take
    its place.
    """
    match node:
        case physical.IStream() | physical.DStream() | physical.Fill():
            return True
        case physical.Union() | physical.BagOperation() | physical.NlJoin() | physical.HashJoin():
            return node.left.collection is node.right.collection is Collection.WINDOWS
        case _:
            return False


def _evaluated(node: physical.TimeWindow, below: _Found, listed: bool) -> _Found:
    """The keys below a window, and whether its evaluations need the ticks of all rows."""
    if by_the_clock(node):
        return below
    now = node.start == 0 and node.end == 0 and not node.open_start
    if now and not listed:
        return below
    if not is_leaf(node.input):
        raise UndividedError(node, "is evaluated at the ticks of all tuples")
    return replace(below, told=(True,))


def _window_below(node: physical.Node) -> physical.TimeWindow:
    """The window that a partial aggregate is made of."""
    while not isinstance(node, physical.TimeWindow):
        (node,) = node.inputs
    return node


def _need(node: physical.Node) -> str:
    """Why an operator needs all rows."""
    match node:
        case physical.TableFunction(call=call) if isinstance(
            undivided := call.divides(node.input.schema), Undivided
        ):
            return undivided.reason
        case physical.Analytic():
            return "orders all rows: it has no PARTITION BY"
        case physical.RowWindow() | physical.Limit():
            return "counts the rows of all sources"
        case physical.Sort():
            return "orders all rows"
        case physical.Aggregate() | physical.AggregateEvaluate() | physical.AggregateMerge():
            return "is one group of all rows"
        case physical.NlJoin() | physical.HashJoin() if node.preserves_table:
            return "keeps all rows of a table"
        case physical.NlJoin() | physical.HashJoin() | physical.AsofJoin() | physical.WindowJoin():
            return "has neither an equality nor a band between its inputs"
        case _:
            return "cannot be divided by what is above it"
