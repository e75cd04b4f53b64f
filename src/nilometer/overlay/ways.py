"""How gateways answer a query over streams of others: they join, they count, or they ship the streams.

The station goes this way (live/peers), and EXPLAIN says which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nilometer.catalog.peer_streams import home_of
from nilometer.overlay.no_join import no_join
from nilometer.overlay.overlaid import join_in, plan_of, why_not
from nilometer.overlay.selections import selection_of
from nilometer.overlay.tally.overlaid_tally import NotTalliedError, Tally, aggregate_in
from nilometer.plan import physical
from nilometer.plan.explain.expressions import print_expression


@dataclass(frozen=True)
class Joins:
    """Peers join the streams of this node."""

    node: physical.WindowJoin


@dataclass(frozen=True)
class Counts:
    """Peers compute this aggregate from counts and sums per key."""

    node: physical.AggregateInit
    tally: Tally


@dataclass(frozen=True)
class Ships:
    """The streams are shipped to the one who asked."""

    reason: str


def way_of(plan: physical.Node) -> Joins | Counts | Ships:
    """The way of a query that reads a stream of another gateway."""
    aggregate = aggregate_in(plan)
    if aggregate is not None:
        try:
            return Counts(aggregate, Tally(aggregate))
        except NotTalliedError as error:
            return Ships(str(error))
    node = join_in(plan)
    if node is None:
        return Ships(no_join(plan))
    reason = why_not(node)
    return Joins(node) if reason is None else Ships(reason)


def remote_leaves(plan: physical.Node) -> list[physical.SpAcquire]:
    """The leaves that read streams of other gateways."""
    leaves = [node for node in physical.walk_plan(plan) if isinstance(node, physical.SpAcquire)]
    return [leaf for leaf in leaves if home_of(leaf.stream) is not None]


def note_of(
    way: Joins | Counts | Ships,
    plan: physical.Node,
    selected: Callable[[physical.SpAcquire], bool] = lambda leaf: selection_of(leaf) is not None,
) -> str:
    """The way in words. `selected`: whether of a leaf's stream only the rows are shipped that match."""
    match way:
        case Joins(node):
            return f"peers join its streams (type {plan_of(node).kind})"
        case Counts():
            return "peers compute its aggregates from counts and sums per key"
        case Ships(reason):
            parts = [
                f"of {leaf.stream.name} only readings with {print_expression(leaf.predicate)}"
                for leaf in remote_leaves(plan)
                if leaf.predicate is not None and selected(leaf)
            ]
            return "; ".join([f"streams are shipped here: {reason}", *parts])


def peer_notes(plan: physical.Node) -> list[str]:
    """What EXPLAIN says; nothing if no stream is another gateway's."""
    return [note_of(way_of(plan), plan)] if remote_leaves(plan) else []
