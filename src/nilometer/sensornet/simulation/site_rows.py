"""A fragment -> the same fragment for all its sites at once: every row carries its site.

A fragment that runs at many sites works on separate rows at each of them. One dataflow does the work of all
sites if the site is a column that no operator drops and that aggregates group by:

    AGGR_INIT [keys] · x   =>   AGGR_INIT [keys, site] · x'        PROJECT [items] · x   =>   PROJECT [items, site] · x'

So the cost of a simulator step depends on its rows, not on the number of sites.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nilometer.algebra import Collection
from nilometer.errors import InternalError
from nilometer.expressions import ColumnReference
from nilometer.plan import physical
from nilometer.plan.logical import Projection
from nilometer.types import INT, Column

SITE = "@site"
"""The column with a site's number in the post-order of the routing tree."""


@dataclass(frozen=True)
class Arrivals(physical.Single):
    """The place where windows of another fragment come in. Unlike EXCHANGE, nothing looks through it, because
    the work below is done."""

    operator = "ARRIVALS"


def can_be_lifted(node: physical.Node) -> bool:
    """Whether a column can keep rows of different sites apart: the fragment has no operator that combines two
    inputs or counts rows."""
    liftable = (
        physical.SpAcquire,
        physical.Select,
        physical.Project,
        physical.Rename,
        physical.Exchange,
        Arrivals,
        physical.TimeWindow,
        physical.AggregateInit,
        physical.AggregateMerge,
    )
    return isinstance(node, liftable) and all(map(can_be_lifted, node.inputs))


def lifted(node: physical.Node) -> tuple[physical.Node, str]:
    """The plan with the site in every row, and the name of that column in its output."""
    match node:
        case physical.SpAcquire(stream=stream, alias=alias, columns=columns):
            site = Column(SITE, INT)
            wide = replace(stream, columns=(*stream.columns, site))
            return replace(node, stream=wide, columns=(*columns, site)), f"{alias}.{SITE}"
        case physical.Project(input=input, items=items):
            below, name = lifted(input)
            return physical.Project(below, (*items, Projection(SITE, ColumnReference(name, INT)))), SITE
        case physical.Rename(input=input, alias=alias):
            below, name = lifted(input)
            return physical.Rename(below, alias), f"{alias}.{name}"
        case physical.AggregateInit() | physical.AggregateMerge():
            below, name = lifted(node.input)
            key = Projection(SITE, ColumnReference(name, INT))
            return replace(node, input=below, keys=(*node.keys, key)), SITE
        case physical.Select() | physical.Exchange() | Arrivals() | physical.TimeWindow():
            below, name = lifted(node.input)
            return node.with_inputs((below,)), name
    raise InternalError(f"{node.operator} cannot keep the rows of several sites apart")


def with_arrivals(root: physical.Node) -> physical.Node:
    """The fragment with ARRIVALS in place of the EXCHANGEs of windows. EXCHANGEs of streams stay, because a
    window above one asks it for the stream's interval."""
    if isinstance(root, physical.Exchange):
        return root if root.collection is Collection.STREAM else Arrivals(root.input)
    return root.with_inputs(tuple(map(with_arrivals, root.inputs))) if root.inputs else root
