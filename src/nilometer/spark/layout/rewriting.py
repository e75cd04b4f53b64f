"""Rewrites expressions over a node's output as equal expressions over one of its inputs. None: there is no
equal there.

A bucket is a function of such expressions. So an expression that is pushed down must have the same value for
every row of the input from which the output row was made.
"""

from __future__ import annotations

from collections.abc import Mapping

from nilometer.algebra import Collection
from nilometer.dataflow.lowering.sources_of import id_type, source_type
from nilometer.expressions import ColumnReference, Expression, columns_of, uses_now
from nilometer.operators.logic import ID
from nilometer.plan import physical
from nilometer.spark.layout.reading import joins_table, streamed_side


def dividing(expression: Expression | None) -> Expression | None:
    """The expression, if it tells rows apart and is the same at every evaluation that sees a row; else None."""
    if expression is None or uses_now(expression) or not columns_of(expression):
        return None
    return expression


def within(expression: Expression, columns: frozenset[str]) -> Expression | None:
    """The expression, if it reads no other columns; else None."""
    return expression if columns_of(expression) <= columns else None


def substituted(expression: Expression, values: Mapping[str, Expression]) -> Expression | None:
    """The expression with each column replaced by its value."""
    if isinstance(expression, ColumnReference):
        return values.get(expression.name)
    children = tuple(substituted(child, values) for child in expression.children())
    if None in children:
        return None
    return expression.with_children(tuple(child for child in children if child is not None))


def source_of(node: physical.Node) -> ColumnReference:
    """The column with the id of a stream's tuples."""
    return ColumnReference(ID, id_type(node))


def has_source(node: physical.Node) -> bool:
    """Whether its rows are tuples with a source."""
    return node.collection is Collection.STREAM and source_type(node) is not None


def source_columns(node: physical.Node) -> frozenset[str]:
    """The columns of a stream that hold the id of each tuple's source, including the system's own; none if
    tuples have no source.
    """
    return frozenset({ID}) | _visible_sources(node) if has_source(node) else frozenset()


def _visible_sources(node: physical.Node) -> frozenset[str]:
    match node:
        case physical.SpAcquire(columns=columns, alias=alias):
            return frozenset(f"{alias}.{column.name}" for column in columns if column.name.lower() == "id")
        case physical.TableFunction(call=call):
            return frozenset({f"{call.alias}.id"}) & frozenset(node.schema.names)
        case physical.Project(input=child, items=items):
            below = _visible_sources(child)
            return frozenset(
                item.name
                for item in items
                if isinstance(item.expression, ColumnReference) and item.expression.name in below
            )
        case physical.Rename(input=child):
            below = _visible_sources(child)
            names = zip(node.schema.names, child.schema.names, strict=True)
            return frozenset(new for new, old in names if old in below)
        case physical.Union(left=left, right=right) if node.collection is Collection.STREAM:
            sources = _visible_sources(left), _visible_sources(right)
            names = zip(left.schema.names, right.schema.names, strict=True)
            return frozenset(one for one, other in names if one in sources[0] and other in sources[1])
        case physical.AsofJoin(left=left):
            return _visible_sources(left)
        case physical.NlJoin() | physical.HashJoin() if joins_table(node):
            return _visible_sources(streamed_side(node))
        case (
            physical.Select()
            | physical.Exchange()
            | physical.Unnest()
            | physical.Lag()
            | physical.Sample()
            | physical.Analytic()
        ):
            return _visible_sources(node.input)
        case _:
            return frozenset()
