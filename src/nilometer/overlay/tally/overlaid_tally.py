"""Which aggregates peers compute from counts and sums per key: COUNT, SUM, AVG, MIN and MAX over a join of windows
`[RANGE w SLIDE s]` of pushed streams, all equal in one column each.

AGGR_INIT and all below it travel as the text of EXPLAIN. At the one who asked, a window over the stream of answers stands
in its place; AGGR_MERGE, AGGR_EVAL and everything above run there as ever.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from nilometer.errors import DataError
from nilometer.expressions import ColumnReference, Expression, type_of
from nilometer.operators.evaluate.evaluate import Predicate, Projector, compile_predicate, compile_projection
from nilometer.overlay.overlaid import runs_code
from nilometer.overlay.tally.tallies import POSITION, TIME, TallyQuery
from nilometer.overlay.tally.tally_plan import JOINED, Group, Item, Side, TallyPlan
from nilometer.plan import physical
from nilometer.plan.eager_aggregation import EagerAggregation, FlatError, eager_aggregation
from nilometer.plan.explain.parse import parse_physical_plan
from nilometer.plan.explain.readers import Extents
from nilometer.types import Kind

BUCKETS = 64
FUNCTIONS = ("count", "sum", "avg", "min", "max")


class NotTalliedError(Exception):
    """Why peers cannot compute an aggregate."""


def aggregate_in(plan: physical.Node) -> physical.AggregateInit | None:
    """The only aggregate over a join in a plan that reads nothing besides."""
    found = [node for node in physical.walk_plan(plan) if isinstance(node, physical.AggregateInit)]
    if len(found) != 1 or isinstance(found[0].input, physical.TimeWindow):
        return None
    leaves = [node for node in physical.walk_plan(plan) if not node.inputs]
    own = [node for node in physical.walk_plan(found[0]) if not node.inputs]
    return found[0] if len(leaves) == len(own) and len(own) > 1 else None


def node_of(text: str, extents: Extents) -> physical.AggregateInit:
    """The aggregate of a text."""
    node = parse_physical_plan(text, extents)
    assert isinstance(node, physical.AggregateInit)
    if runs_code(node):
        raise DataError("a peer's aggregate calls a function in Python, which peers do not run")
    return node


class Tally:
    """An aggregate, compiled: `prepare` makes the rows that a home sends. Raises NotTalliedError if peers cannot."""

    def __init__(self, node: physical.AggregateInit) -> None:
        if runs_code(node):
            raise NotTalliedError("it calls a function in Python")
        try:
            eager = eager_aggregation(
                [(key.name, key.expression) for key in node.keys],
                [(item.name, item.aggregate) for item in node.items],
                node.input,
            )
        except FlatError as error:
            raise NotTalliedError(
                f"its aggregates are not made of counts and sums per key: {error}"
            ) from error
        if node.completeness is not None:
            raise NotTalliedError("it asks for completeness")
        leaves = [_leaf(leaf) for leaf in eager.tree.leaves]
        joined = _joined(eager)
        columns: list[dict[str, Expression]] = [{} for _ in leaves]
        groups = []
        for _, expression in eager.keys:
            at = eager.tree.leaf_of(expression)
            assert at is not None
            groups.append(Group(at, _column(columns[at], expression)))
        items = []
        for _, aggregate in eager.items:
            if aggregate.function not in FUNCTIONS or aggregate.distinct:
                raise NotTalliedError(f"{aggregate} is none of COUNT, SUM, AVG, MIN, MAX")
            if aggregate.argument is None:
                items.append(Item("count"))
                continue
            at = eager.tree.leaf_of(aggregate)
            assert at is not None
            whole = type_of(aggregate.argument).kind is Kind.INT
            function = "sum" if aggregate.function == "avg" else aggregate.function
            items.append(Item(function, at, _column(columns[at], aggregate.argument), whole))
        slides = {window.slide for window, _ in leaves}
        slide = next(iter(slides))
        if len(slides) != 1 or slide is None:
            raise NotTalliedError("its windows have no SLIDE, or not the same")
        names = [acquire.stream.name for _, acquire in leaves]
        sides = []
        for at, (window, _) in enumerate(leaves):
            assert window.start is not None
            sides.append(Side(names[at], window.start, tuple(columns[at])))
        class_id = "=".join(
            sorted(f"{name.lower()}.{_bare(one)}" for name, one in zip(names, joined, strict=True))
        )
        self.plan = TallyPlan(tuple(sides), slide, BUCKETS, class_id, tuple(groups), tuple(items))
        self.leaves = tuple(acquire for _, acquire in leaves)
        self._conditions: list[Predicate] = [compile_predicate(leaf.predicate) for leaf in self.leaves]
        self._columns: list[Projector] = [
            compile_projection([(JOINED, joined[at]), *columns[at].items()]) for at in range(len(leaves))
        ]

    def prepare(self, at: int, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of a side that its condition lets through, with the joined column and the side's own."""
        leaf = self.leaves[at]
        names = {column.name: f"{leaf.alias}.{column.name}" for column in leaf.columns + leaf.reads}
        chosen = self._conditions[at](
            rows.rename({old: new for old, new in names.items() if old in rows.columns})
        )
        return self._columns[at].of_sound(chosen, [POSITION, TIME])


class Compiled:
    """The aggregates that a peer knows, by the identity of their question."""

    def __init__(self) -> None:
        self._known: dict[str, Tally] = {}

    def know(self, query: str, tally: Tally) -> TallyPlan:
        """A question is known from now on."""
        self._known[query] = tally
        return tally.plan

    def forget(self, query: str) -> None:
        """The question is over."""
        self._known.pop(query, None)

    def __call__(self, query: TallyQuery, at: int, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of a side."""
        return self._known[query.id].prepare(at, rows)


def values_of(node: physical.AggregateInit, rows: pl.DataFrame) -> list[pl.Series]:
    """Merged answers (arithmetic.merged) as the columns of AGGR_INIT: keys, then the partial results of each item."""
    found = [rows.get_column(f"group{at}") for at in range(len(node.keys))]
    for at, item in enumerate(node.items):
        count = "rows" if item.aggregate.argument is None else f"count{at}"
        for column in physical.partial_columns(item):
            part = column.name.rpartition("#")[2]
            if part == "count":
                values: Any = rows.get_column(count)
            else:
                name = f"{part}{at}"
                values = rows.select(pl.when(pl.col(count) > 0).then(pl.col(name)).alias(name)).to_series()
            found.append(values)
    return found


def _leaf(node: physical.Node) -> tuple[physical.TimeWindow, physical.SpAcquire]:
    if not isinstance(node, physical.TimeWindow) or not isinstance(node.input, physical.SpAcquire):
        raise NotTalliedError("something lies between a window and its stream")
    stream = node.input.stream
    if node.start is None or node.end or not node.open_start or node.grid is not None:
        raise NotTalliedError("its windows are not all [RANGE ... SLIDE ...]")
    if stream.sensed or node.input.sensors is not None:
        raise NotTalliedError(f"'{stream.name}' is sensed at an interval, or certain sensors of it are read")
    return node, node.input


def _joined(eager: EagerAggregation) -> list[Expression]:
    """The column of each leaf that is equal to those of all others."""
    members: list[set[tuple[int, Expression]]] = []
    for join in eager.tree.joins:
        for pair in join.keys:
            places = [(eager.tree.leaf_of(one), one) for one in pair]
            new = {(at, one) for at, one in places if at is not None}
            touching = [one for one in members if one & new]
            members = [one for one in members if not one & new] + [new.union(*touching)]
    if len(members) != 1 or len(members[0]) != len(eager.tree.leaves):
        raise NotTalliedError("not one equality connects all its streams")
    joined = [one for _, one in sorted(members[0], key=lambda member: member[0])]
    if len({type_of(one).plain for one in joined}) != 1 or not all(
        isinstance(one, ColumnReference) for one in joined
    ):
        raise NotTalliedError("it compares more than plain columns of one type")
    return joined


def _column(columns: dict[str, Expression], expression: Expression) -> str:
    for name, known in columns.items():
        if known == expression:
            return name
    name = f"v{len(columns)}"
    columns[name] = expression
    return name


def _bare(expression: Expression) -> str:
    assert isinstance(expression, ColumnReference)
    return expression.name.rpartition(".")[2]
