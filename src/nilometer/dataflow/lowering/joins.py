"""Lowers NL_JOIN, HASH_JOIN, UNION, EXCEPT and INTERSECT, by the kind of their inputs: windows, a stream's tuples, or tables."""

from __future__ import annotations

import polars as pl

from nilometer.algebra import Collection
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.lowering.sources_of import id_type, source_type
from nilometer.dataflow.ticks import mixed
from nilometer.expressions import Expression
from nilometer.operators import bag_operation as bag_operator
from nilometer.operators import union as union_operator
from nilometer.operators.join import WindowsJoin, WindowsTableJoin
from nilometer.operators.logic import TICK, TIME
from nilometer.operators.matching import KeyPairs
from nilometer.operators.table_join import StreamTableJoin, TableJoin
from nilometer.operators.table_outer_join import TableOuterJoin
from nilometer.plan.physical import BagOperation, HashJoin, NlJoin, Union


def nested_loop_join(node: NlJoin, flow: Dataflow) -> int:
    """Join by testing every pair of rows."""
    return _join(node, flow, (), node.predicate)


def hash_join(node: HashJoin, flow: Dataflow) -> int:
    """Join by looking up equal keys."""
    return _join(node, flow, node.keys, node.residual)


def _join(node: NlJoin | HashJoin, flow: Dataflow, keys: KeyPairs, residual: Expression | None) -> int:
    left, right = node.left, node.right
    common = (left.schema, right.schema, node.kind, keys, residual)
    match left.collection, right.collection:
        case Collection.WINDOWS, Collection.WINDOWS:
            return flow.add_operator(node, WindowsJoin(*common))
        case (Collection.WINDOWS, _) | (_, Collection.WINDOWS):
            table = 1 if right.collection is Collection.TABLE else 0
            if node.preserves_table:
                return flow.add_operator(node, TableOuterJoin(*common, table=table))
            return flow.add_operator(node, WindowsTableJoin(*common, table=table))
        case Collection.TABLE, Collection.TABLE:
            return flow.add_operator(node, TableJoin(*common))
        case _:
            table = 1 if right.collection is Collection.TABLE else 0
            return flow.add_operator(node, StreamTableJoin(*common, table=table, id_type=id_type(node)))


def union(node: Union, flow: Dataflow) -> int:
    """The bag union."""
    id_types = (
        (source_type(node.left), source_type(node.right))
        if node.collection is Collection.STREAM
        else (None, None)
    )
    spec = union_operator.Union(node.left.schema, node.right.schema, node.collection, id_types)
    place = flow.add_operator(node, spec)
    return flow.fuse(place, _at_their_times) if mixed(node) else place


def bag_operation(node: BagOperation, flow: Dataflow) -> int:
    """The difference or intersection of two bags."""
    windows = node.collection is Collection.WINDOWS
    spec = bag_operator.BagOperation(node.left.schema, node.right.schema, node.bag_operator, windows)
    return flow.add_operator(node, spec)


def _at_their_times(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col(TIME).alias(TICK))
