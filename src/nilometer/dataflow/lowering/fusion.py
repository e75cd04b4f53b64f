"""Fuses an aggregate and the window below it into one operator that shares panes.

    Aggregate · (Select | Project | Rename)* · TimeWindow  =>  WindowAggregate     if none between reads NOW
    Aggregate · (Select | Project | Rename)* · RowWindow   =>  RowWindowAggregate  likewise

The nodes in between are folded into the aggregate's expressions, which then read the window's rows directly.
"""

from __future__ import annotations

from collections.abc import Callable

from nilometer import algebra
from nilometer.dataflow.lowering.sources_of import acquisition_interval, grid_of, id_type
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import ColumnReference, Expression, conjunction, transform
from nilometer.operators.aggregate_items import NamedAggregate, NamedExpression
from nilometer.operators.row_window_aggregate import RowWindowAggregate
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate, fusible
from nilometer.plan.physical import Exchange, Node, Project, Rename, RowWindow, Select, TimeWindow

Keys = tuple[NamedExpression, ...]
Items = tuple[NamedAggregate, ...]


def fused(
    keys: Keys, items: Items, completeness: algebra.Completeness | None, below: Node
) -> tuple[WindowAggregate | RowWindowAggregate, Node] | None:
    """The one operator for an aggregate of `below`, and its stream; None if windows must be made first."""
    conditions: tuple[Expression, ...] = ()
    while not isinstance(below, TimeWindow | RowWindow):
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
            case Exchange(input=input):
                pass
            case _:
                return None
        below = input
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
    )
    return spec, below.input


def _substitution(names: dict[str, Expression]) -> Callable[[Expression], Expression]:
    def change(expression: Expression) -> Expression:
        return names[expression.name] if isinstance(expression, ColumnReference) else expression

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
