"""Translates the keys of a node's output into keys of its inputs, so that rows that belong together meet in
one bucket.

`below(node, port, expression)` returns the expression in terms of an input. It returns None if a row of the
output and the rows it is made of need not agree in it. This is where each operator says which rows it brings
together.
"""

from __future__ import annotations

from nilometer.algebra import Collection, JoinKind
from nilometer.algebra.table_function import BySource, ByValue
from nilometer.expressions import ColumnReference, Expression, columns_of
from nilometer.operators.logic import ID
from nilometer.plan import physical
from nilometer.spark.layout.equalities import Equalities
from nilometer.spark.layout.reading import joins_table
from nilometer.spark.layout.rewriting import has_source, source_columns, source_of, substituted, within


def below(node: physical.Node, port: int, expression: Expression) -> Expression | None:
    """The expression over the node's output, in terms of its input at this port."""
    child = node.inputs[port]
    match node:
        case physical.Select() | physical.Deliver() | physical.TimeWindow():
            return expression
        case physical.Project(items=items):
            own: dict[str, Expression] = {item.name: item.expression for item in items}
            return substituted(expression, own | _source(child))
        case physical.Rename():
            return substituted(expression, _by_position(node, child) | _source(child))
        case physical.Union():
            source = _source(child) if has_source(node) else {}
            return substituted(expression, _by_position(node, child) | source)
        case physical.Unnest(name=name):
            return None if name in columns_of(expression) else expression
        case physical.BagOperation():
            return substituted(expression, _by_position(node, child))
        case physical.Lag() | physical.Sample():
            return within(expression, source_columns(child))
        case physical.Analytic(partition=partition):
            return _below_analytic(child, partition, expression)
        case physical.Fill(keys=keys):
            return within(expression, frozenset(keys))
        case physical.TableFunction():
            return _below_function(node, expression)
        case physical.RStream() | physical.IStream() | physical.DStream():
            return within(expression, frozenset(child.schema.names))
        case physical.Aggregate(keys=keys) | physical.AggregateInit(keys=keys):
            return substituted(expression, {key.name: key.expression for key in keys})
        case physical.AggregateMerge(keys=keys) | physical.AggregateEvaluate(keys=keys):
            return within(expression, frozenset(key.name for key in keys))
        case physical.HashJoin() | physical.NlJoin() | physical.AsofJoin() | physical.WindowJoin():
            return _below_join(node, port, expression)
        case _:
            return None


def own_keys(node: physical.Node) -> tuple[Expression, ...]:
    """The keys over the node's output that can divide it, if the nodes above ask for none. None: it needs all
    rows.
    """
    match node:
        case physical.Lag() | physical.Sample():
            return (source_of(node),)
        case physical.Analytic(partition=partition):
            return partition
        case physical.Fill(keys=keys):
            return tuple(ColumnReference(key, node.schema[key].type) for key in keys)
        case physical.TableFunction():
            return _keys_of_function(node)
        case physical.IStream() | physical.DStream() | physical.BagOperation():
            # Differences of bags: equal rows must meet.
            return tuple(ColumnReference(column.name, column.type) for column in node.schema)
        case physical.Aggregate(keys=keys) | physical.AggregateEvaluate(keys=keys):
            return tuple(ColumnReference(key.name, node.schema[key.name].type) for key in keys)
        case physical.HashJoin() | physical.AsofJoin() | physical.WindowJoin():
            return equalities(node).of_all(len(node.inputs))
        case _:
            return ()


def _below_analytic(
    child: physical.Node, partition: tuple[Expression, ...], expression: Expression
) -> Expression | None:
    """The same expression, if all rows of a partition agree in it."""
    if expression in partition:
        return expression
    columns = {each.name for each in partition if isinstance(each, ColumnReference)}
    sources = source_columns(child)
    return within(expression, frozenset(columns | sources if columns & sources else columns))


def _keys_of_function(node: physical.TableFunction) -> tuple[Expression, ...]:
    match node.call.divides(node.input.schema):
        case BySource() if node.collection is Collection.STREAM:
            return (source_of(node),)
        case BySource():
            return (_own_column(node, "id"),)
        case ByValue(given_as=name):
            return (_own_column(node, name),)
        case _:
            return ()


def _below_function(node: physical.TableFunction, expression: Expression) -> Expression | None:
    child = node.input
    match node.call.divides(child.schema):
        case BySource():
            columns = {*source_columns(node), f"{node.call.alias}.id"}
            return substituted(expression, {name: source_of(child) for name in columns})
        case ByValue(column, name):
            value = ColumnReference(column, child.schema[column].type)
            return substituted(expression, {f"{node.call.alias}.{name}": value})
        case _:
            return None


def _own_column(node: physical.TableFunction, name: str) -> ColumnReference:
    column = node.schema[f"{node.call.alias}.{name}"]
    return ColumnReference(column.name, column.type)


def equalities(node: physical.Node) -> Equalities:
    """The expressions that are equal in every pair (or N-tuple) of a join."""
    match node:
        case physical.HashJoin(keys=keys) | physical.AsofJoin(keys=keys):
            return Equalities(((0, left), (1, right)) for left, right in keys)
        case physical.WindowJoin(keys=pairs):
            return Equalities(
                ((pair.left, pair.left_expression), (pair.right, pair.right_expression)) for pair in pairs
            )
        case _:
            return Equalities(())


def _below_join(
    node: physical.HashJoin | physical.NlJoin | physical.AsofJoin | physical.WindowJoin,
    port: int,
    expression: Expression,
) -> Expression | None:
    columns = frozenset(node.inputs[port].schema.names)
    if isinstance(node, physical.WindowJoin):
        if ID in columns_of(expression) or not _filled(node, expression):
            return None
        return equalities(node).over(expression, port, columns)
    if not isinstance(node, physical.AsofJoin) and node.kind is JoinKind.FULL:
        return None  # either side may be NULL, so rows that are equal above may be in different buckets
    outer = isinstance(node, physical.AsofJoin) or node.kind is not JoinKind.INNER
    if outer and not columns_of(expression) <= {ID, *node.left.schema.names}:
        # A left row without a partner has NULLs on the right: it may be in another bucket than the rows equal
        # to it.
        return None
    keeps_source = joins_table(node) or (isinstance(node, physical.AsofJoin) and port == 0)
    if keeps_source:
        return equalities(node).over(expression, port, columns | {ID})
    if ID in columns_of(expression):
        return _by_visible_source(node, port, expression)
    return equalities(node).over(expression, port, columns)


def _filled(node: physical.WindowJoin, expression: Expression) -> bool:
    """Whether the join never puts NULLs in place of what the expression reads."""
    if node.kind is JoinKind.LEFT:
        return columns_of(expression) <= set(node.streams[0].schema.names)
    return node.kind is JoinKind.INNER


def _by_visible_source(node: physical.Node, port: int, expression: Expression) -> Expression | None:
    """The expression with the id replaced by a visible column. An as-of join keeps the ids of its left input;
    if the left's id column is a join key, the right has an equal column.
    """
    left = node.inputs[0]
    columns = frozenset(node.inputs[port].schema.names)
    for name in sorted(source_columns(left) - {ID}):
        visible = ColumnReference(name, left.schema[name].type)
        values: dict[str, Expression] = {c.name: ColumnReference(c.name, c.type) for c in left.schema}
        found = substituted(expression, values | {ID: visible})
        if found is not None and (equal := equalities(node).over(found, port, columns)) is not None:
            return equal
    return None


def _source(child: physical.Node) -> dict[str, Expression]:
    """The system's id column is that of the input, if the input has one."""
    return {ID: source_of(child)} if has_source(child) else {}


def _by_position(node: physical.Node, child: physical.Node) -> dict[str, Expression]:
    pairs = zip(node.schema.names, child.schema.columns, strict=True)
    return {name: ColumnReference(column.name, column.type) for name, column in pairs}
