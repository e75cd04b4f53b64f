"""Which part of a plan peers run: a join by WINDOW of pushed streams with equalities between plain columns, and bounds on
their times.

The join travels as the text of EXPLAIN, which parses back (plan/explain/parse.py). Everything above it (projections,
aggregates, HAVING) runs at the peer that asked, over the stream of results. Anything else is not overlaid: `why_not`
says the reason, and the streams themselves are shipped to the one who asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass

import polars as pl

from nilometer.algebra import JoinKind
from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions import UNIT
from nilometer.errors import DataError
from nilometer.expressions import Call, ColumnReference, Expression, conjuncts
from nilometer.kernels.window_bounds import closure, implied_widths
from nilometer.operators.evaluate.evaluate import Predicate, compile_predicate
from nilometer.overlay.join_plan import Input, JoinPlan, Member
from nilometer.overlay.time_bounds import Later, later_by
from nilometer.overlay.worth import POLICIES
from nilometer.plan import physical
from nilometer.plan.explain import explain_text
from nilometer.plan.explain.expressions import print_expression
from nilometer.plan.explain.parse import parse_physical_plan
from nilometer.plan.explain.readers import Extents
from nilometer.plan.logical import Projection
from nilometer.plan.window_join_parts import tied


def join_in(plan: physical.Node) -> physical.WindowJoin | None:
    """The only join by WINDOW of a plan that reads nothing besides; None if there is none, or more."""
    joins = [node for node in physical.walk_plan(plan) if isinstance(node, physical.WindowJoin)]
    if len(joins) != 1 or not all(isinstance(one, physical.SpAcquire) for one in joins[0].streams):
        return None
    leaves = [node for node in physical.walk_plan(plan) if not node.inputs]
    return joins[0] if len(leaves) == len(joins[0].streams) else None


def why_not(node: physical.WindowJoin) -> str | None:
    """Why peers cannot run a join; None if they can."""
    if node.kind is not JoinKind.INNER:
        return "it is an outer join"
    if runs_code(node):
        return "it calls a function in Python"
    if _later(node) is None:
        return "it has a condition on several streams that is neither an equality nor a bound on times"
    if node.memory is not None and node.memory.policy not in POLICIES:
        return f"peers do not shed by {node.memory.policy}"
    for key in node.keys:
        if not isinstance(key.left_expression, ColumnReference) or not isinstance(
            key.right_expression, ColumnReference
        ):
            return "it compares more than plain columns"
    for leaf in node.streams:
        assert isinstance(leaf, physical.SpAcquire)
        if leaf.stream.sensed:
            return f"'{leaf.stream.name}' is sensed at an interval"
        if leaf.sensors is not None:
            return "it reads certain sensors"
    if not tied(len(node.streams), node.keys):
        return "equalities do not tie all streams together"
    return None


def text_of(node: physical.WindowJoin) -> str:
    """The join as text, for the wire."""
    return explain_text(node)


def join_of(text: str, extents: Extents) -> physical.WindowJoin:
    """The join of a text."""
    node = parse_physical_plan(text, extents)
    assert isinstance(node, physical.WindowJoin)
    if runs_code(node):
        raise DataError("a peer's join calls a function in Python, which peers do not run")
    return node


def runs_code(part: object) -> bool:
    """Whether a plan calls a function in Python or a unit: who sends one names the code that runs."""
    if isinstance(part, Call) and part.function == "python":
        return True
    if isinstance(part, FunctionCall) and part.function is UNIT:
        return True
    if isinstance(part, tuple | list):
        return any(runs_code(each) for each in part)
    if is_dataclass(part):
        return any(runs_code(getattr(part, each.name)) for each in fields(part))
    return False


def plan_of(node: physical.WindowJoin, order: Sequence[int] = ()) -> JoinPlan:
    """The join as peers run it. `order`: by which class to join first."""
    leaves = [leaf for leaf in node.streams if isinstance(leaf, physical.SpAcquire)]
    members: list[set[Member]] = []
    for key in node.keys:
        pair = {
            (key.left, _bare(key.left_expression)),
            (key.right, _bare(key.right_expression)),
        }
        touching = [one for one in members if one & pair]
        members = [one for one in members if not one & pair] + [pair.union(*touching)]
    memory = node.memory
    return JoinPlan(
        tuple(_input(leaf, at, members) for at, leaf in enumerate(leaves)),
        tuple(tuple(sorted(one)) for one in members),
        _widths(node),
        tuple(order),
        () if memory is None else memory.rows,
        "" if memory is None else str(memory.policy),
    )


def _later(node: physical.WindowJoin) -> list[Later] | None:
    """The bounds that the join's predicate puts on its inputs' times; None if it says anything else."""
    times = {
        f"{leaf.alias}.time": at
        for at, leaf in enumerate(node.streams)
        if isinstance(leaf, physical.SpAcquire)
    }
    found: list[Later] = []
    for condition in conjuncts(node.predicate):
        bounds = later_by(condition, times)
        if bounds is None:
            return None
        found += bounds
    return found


def _widths(node: physical.WindowJoin) -> tuple[tuple[int, ...], ...]:
    """How much later each input may be than each other."""
    widths = implied_widths(len(node.streams), [(one.left, one.right, one.width) for one in node.bounds])
    for early, late, width in _later(node) or ():
        widths[early, late] = min(int(widths[early, late]), width)
    return tuple(tuple(map(int, row)) for row in closure(widths))


def _input(leaf: physical.SpAcquire, at: int, classes: Sequence[set[Member]]) -> Input:
    keys = {column for one in classes for place, column in one if place == at}
    read = {column.name for column in leaf.columns + leaf.reads}
    condition = None if leaf.predicate is None else print_expression(leaf.predicate)
    return Input(leaf.stream.name, tuple(sorted(read | keys)), leaf.alias, condition)


def _bare(expression: Expression) -> str:
    assert isinstance(expression, ColumnReference)
    return expression.name.rpartition(".")[2]


class Conditions:
    """The compiled selections of all joins that a peer knows, by input."""

    def __init__(self) -> None:
        self._compiled: dict[Input, Predicate] = {}

    def know(self, node: physical.WindowJoin, order: Sequence[int] = ()) -> JoinPlan:
        """The plan of a join, whose selections are known from now on."""
        plan = plan_of(node, order)
        for one, leaf in zip(plan.inputs, node.streams, strict=True):
            assert isinstance(leaf, physical.SpAcquire)
            if leaf.predicate is not None:
                self._compiled[one] = compile_predicate(leaf.predicate)
        return plan

    def __call__(self, one: Input, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of a stream that an input lets through."""
        if one.condition is None or not rows.height:
            return rows
        qualified = {name: f"{one.alias}.{name}" for name in one.columns}
        kept = self._compiled[one](rows.rename(qualified))
        return kept.rename({new: old for old, new in qualified.items()})


def without_join(plan: physical.Node, node: physical.Node, instead: physical.Node) -> physical.Node:
    """The plan with the stream of results in the place of the join."""
    if plan is node:
        return instead
    inputs = tuple(without_join(one, node, instead) for one in plan.inputs)
    return plan if inputs == plan.inputs else plan.with_inputs(inputs)


def results_of(node: physical.WindowJoin, leaf: physical.SpAcquire) -> physical.Node:
    """The results' stream, with the names that the nodes above the join use."""
    items = [
        Projection(wanted.name, ColumnReference(column.name, column.type), wanted.unit)
        for column, wanted in zip(leaf.schema, node.schema, strict=True)
    ]
    return physical.Project(leaf, tuple(items))
