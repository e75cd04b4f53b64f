"""Finds the queries that share one store of state with others: aggregates of windows, and joins of windows."""

from __future__ import annotations

from nilometer.dataflow.join_queries import JoinQuery, join_query
from nilometer.dataflow.watermark import Leaf, leaves
from nilometer.dataflow.window_queries import WindowQuery, window_query
from nilometer.plan import physical


def family_query(plan: physical.Node) -> WindowQuery | JoinQuery | None:
    """The query as a member of a family; None if it needs stages of its own."""
    return window_query(plan) or join_query(plan)


def occurrences(plan: physical.Node) -> frozenset[Leaf]:
    """The occurrences of streams by which queries are grouped. Members of a family count as one for each stream: while
    the streams run they have the same watermark, and after the end each has its own (family.py)."""
    query = family_query(plan)
    if query is None:
        return frozenset(leaves(plan))
    return frozenset(Leaf(stream, (), False) for stream in query.streams)
