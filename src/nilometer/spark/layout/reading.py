"""Which parts of a plan can run where a stream is read: no state, no waiting, one stream.

    SP_ACQUIRE, and above it SELECT, PROJECT, RENAME, DELIVER and joins with tables, which are there at every
    tick

Every reader, and every bucket that joins with a table, reads the table itself. AGGR_COMBINE may be above all
of it (combining.py).
"""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.plan import physical
from nilometer.spark.layout.nodes import AggregateCombine, StageCombine


def has_streams(node: physical.Node) -> bool:
    """Whether any stream is read below; if not, all rows are there at once."""
    return any(isinstance(below, physical.SpAcquire) for below in physical.walk_plan(node))


def stateless(node: physical.Node) -> bool:
    """Whether all of it can run in the reader of its one stream, or over tables alone."""
    return not has_streams(node) or in_reader(node)


def in_reader(node: physical.Node) -> bool:
    """Whether the node and all below it can run in the reader of its one stream."""
    match node:
        case physical.SpAcquire():
            return True
        case physical.Select() | physical.Project() | physical.Rename() | physical.Deliver():
            return in_reader(node.input)
        case physical.NlJoin() | physical.HashJoin() if node.collection is Collection.STREAM:
            return in_reader(streamed_side(node))
        case AggregateCombine():
            return not isinstance(node, StageCombine)
        case _:
            return False


def streamed_side(node: physical.NlJoin | physical.HashJoin) -> physical.Node:
    """The side of a join with a table that is not the table."""
    return node.right if node.left.collection is Collection.TABLE else node.left


def joins_table(node: physical.Node) -> bool:
    """Whether the node joins windows or a stream with a table, which is then in every bucket. A join that
    keeps all rows of the table does not count: it would give them in every bucket."""
    return (
        isinstance(node, physical.NlJoin | physical.HashJoin)
        and (node.left.collection is Collection.TABLE) != (node.right.collection is Collection.TABLE)
        and not node.preserves_table
    )
