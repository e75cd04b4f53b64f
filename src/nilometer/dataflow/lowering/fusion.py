"""Fuses an aggregate and the window below it into one operator that shares panes.

    Aggregate · (Select | Project | Rename)* · TimeWindow  =>  WindowAggregate     if none between reads NOW
    Aggregate · (Select | Project | Rename)* · RowWindow   =>  RowWindowAggregate  likewise
    Aggregate · (Project | Rename)* · TimeWindow [NOW] · (Select | Project | Rename)* · SESSION  =>  SessionAggregate

The nodes in between are folded into the aggregate's expressions, which then read the window's rows directly.
"""

from __future__ import annotations

from collections.abc import Callable

from nilometer import algebra
from nilometer.dataflow.lowering.sources_of import grid_of, id_type, time_column
from nilometer.dataflow.lowering.table_functions import spec_of
from nilometer.dataflow.ticks import acquisition_interval
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import ColumnReference, Expression, conjunction, transform, walk
from nilometer.operators.aggregate_items import NamedAggregate, NamedExpression
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.row_window_aggregate import RowWindowAggregate
from nilometer.operators.session import Session
from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
from nilometer.operators.window_aggregate.combined import decided_by_rows, kinds
from nilometer.operators.window_aggregate.components import slides
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate, fusible
from nilometer.plan.physical import (
    Exchange,
    Node,
    Project,
    Rename,
    RowWindow,
    Select,
    SpAcquire,
    TableFunction,
    TimeWindow,
)

Keys = tuple[NamedExpression, ...]
Items = tuple[NamedAggregate, ...]


def fused(
    keys: Keys, items: Items, completeness: algebra.Completeness | None, below: Node
) -> tuple[WindowAggregate | RowWindowAggregate, Node] | None:
    """The one operator for an aggregate of `below`, and its stream; None if windows must be made first."""
    keys, items, conditions, below = _folded(keys, items, (), below)
    if not isinstance(below, TimeWindow | RowWindow):
        return None
    predicate_of_all = conjunction(conditions)
    if not fusible(keys, items, predicate_of_all):
        return None
    if isinstance(below, RowWindow):
        if completeness is not None or below.keys:
            return None
        rows = RowWindowAggregate(
            below.schema,
            below.start,
            below.end,
            below.slide,
            keys,
            items,
            predicate_of_all,
            id_type(below.input),
        )
        return rows, below.input
    spec = WindowAggregate(
        below.start,
        below.end,
        below.slide,
        below.open_start,
        acquisition_interval(below.input),
        keys,
        items,
        predicate_of_all,
        completeness,
        grid_of(below),
        time_column(below.input),
    )
    return spec, below.input


def fused_session(keys: Keys, items: Items, below: Node) -> tuple[SessionAggregate, Node] | None:
    """The one operator for an aggregate of sessions, and the stream of these; None if their rows must be kept."""
    # An exchange is where a plan is cut: what lies below it may run elsewhere.
    keys, items, above, below = _folded(keys, items, (), below, through_exchanges=False)
    # A condition above the window decides nothing about when it is evaluated; the optimizer moves it below.
    if (
        above
        or not isinstance(below, TimeWindow)
        or (below.start, below.slide, below.grid) != (0, None, None)
    ):
        return None
    keys, items, conditions, below = _folded(keys, items, (), below.input, through_exchanges=False)
    if not isinstance(below, TableFunction) or below.operator != "SESSION":
        return None
    session = spec_of(below)
    assert isinstance(session, Session)
    rows = dict(zip(session.schema.names, session.input.columns, strict=False))
    replace = _substitution({new: ColumnReference(c.name, c.type) for new, c in rows.items()})
    keys, items, conditions = _replaced(replace, keys, items, conditions)
    window = set(session.schema.names[-3:])
    if any(_reads(e) & window and _reads(e) - window for _, e in keys):
        return None
    if any(_reads(e) & window for e in (*(item for _, item in items), *conditions)):
        return None
    predicate = conjunction(conditions)
    if not fusible(keys, items, predicate):
        return None
    spec = SessionAggregate(
        session.input,
        session.pause,
        session.alias,
        session.id_type,
        session.keys,
        keys,
        items,
        predicate,
        _time_of_sessions(below.input, session, keys),
    )
    found = kinds(spec)
    if found is None:
        return None
    if not (slides(items) or decided_by_rows(items)) and aggregate_sieve(spec.row_keys, items, predicate):
        return None  # a row without a value is set aside, but belongs to its session
    return spec, below.input


def _time_of_sessions(node: Node, session: Session, keys: Keys) -> str | None:
    """The column of time, if no two sessions of one tick and group hold tuples of one source that interleave: sessions
    are those of a source, or of columns by which the groups are made."""
    while isinstance(node, Select | Exchange):
        node = node.input
    grouped = {str(expression) for _, expression in keys}
    if not isinstance(node, SpAcquire) or not set(session.keys) <= grouped:
        return None
    return time_column(node)


def _reads(expression: Expression) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, ColumnReference)}


def _folded(
    keys: Keys,
    items: Items,
    conditions: tuple[Expression, ...],
    below: Node,
    *,
    through_exchanges: bool = True,
) -> tuple[Keys, Items, tuple[Expression, ...], Node]:
    """Folds selections and projections into expressions, down to the first other node."""
    while True:
        match below:
            case Select(input=input, predicate=predicate):
                # Lower conditions are evaluated first: a condition may guard the ones above it.
                conditions = (predicate, *conditions)
            case Project(input=input, items=projected):
                replace = _substitution({item.name: item.expression for item in projected})
                keys, items, conditions = _replaced(replace, keys, items, conditions)
            case Rename(input=input):
                columns = zip(below.schema.names, input.schema.columns, strict=True)
                replace = _substitution({new: ColumnReference(c.name, c.type) for new, c in columns})
                keys, items, conditions = _replaced(replace, keys, items, conditions)
            case Exchange(input=input) if through_exchanges:
                pass
            case _:
                return keys, items, conditions, below
        below = input


def _substitution(names: dict[str, Expression]) -> Callable[[Expression], Expression]:
    def change(expression: Expression) -> Expression:
        if not isinstance(expression, ColumnReference):
            return expression
        return names.get(expression.name, expression)

    return lambda expression: transform(expression, change)


def _replaced(
    replace: Callable[[Expression], Expression], keys: Keys, items: Items, conditions: tuple[Expression, ...]
) -> tuple[Keys, Items, tuple[Expression, ...]]:
    aggregates = []
    for name, aggregate in items:
        changed = replace(aggregate)
        assert isinstance(changed, AggregateExpression)
        aggregates.append((name, changed))
    return (
        tuple((name, replace(expression)) for name, expression in keys),
        tuple(aggregates),
        tuple(map(replace, conditions)),
    )
