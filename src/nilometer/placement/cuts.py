"""A plan -> the ways to divide it between the network and the gateway (SNEE's future work b), each as the
operators at the gateway.

Every cut leaves to the gateway the operators that a mote cannot run. Beyond that there is one cut for each
operator at which rows meet or multiply, and for AGGR_INIT and PROJECT, whose results may be wider than the
readings they come from, and wider than a packet. That operator and all above it go to the gateway; the rest
stays in the network. The last cut ships every reading as it was sensed, with all columns and unfiltered.
Nobody should want that one, but EXPLAIN says what it would cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nilometer.expressions import ColumnReference
from nilometer.placement.abilities import windows_behind
from nilometer.placement.node_paths import NodePath, walk_with_paths
from nilometer.placement.sources import Sources, source_key
from nilometer.placement.tuple_layout import column_sizes
from nilometer.placement.volume import readings_covered
from nilometer.plan import physical
from nilometer.plan.logical import Projection


@dataclass(frozen=True)
class Cut:
    """`at_sink`: the paths of the operators of `plan` that run at the gateway, with DELIVER."""

    name: str
    plan: physical.Node
    at_sink: frozenset[NodePath]
    control: bool = False

    @property
    def in_network(self) -> tuple[str, ...]:
        """The operators that run on motes, from the leaves up."""
        found = [
            node.operator
            for path, node in walk_with_paths(self.plan)
            if path not in self.at_sink and not _silent(node)
        ]
        return tuple(reversed(found))


def cuts_of(plan: physical.Node, forced: frozenset[NodePath], sources: Sources) -> tuple[Cut, ...]:
    """The ways to divide a plan. The first has the most operators in the network."""
    found = {forced: Cut("as much as can be in the network", plan, forced)}
    top = int(isinstance(plan, physical.Deliver))
    for path, node in walk_with_paths(plan):
        if _meets(node, sources.interval) and path not in forced:
            above = frozenset(path[:depth] for depth in range(top, len(path) + 1))
            at_sink = forced | above
            at_sink |= frozenset(windows_behind(plan, at_sink))
            cut = Cut(f"{node.operator} and what is above it at the gateway", plan, at_sink)
            found.setdefault(cut.at_sink, cut)
    raw = _everything_shipped(plan, sources)
    return (*found.values(), raw)


def _everything_shipped(plan: physical.Node, sources: Sources) -> Cut:
    """The cut that sends every reading to the gateway, whole and unfiltered."""

    def widen(node: physical.Node) -> physical.Node:
        if not isinstance(node, physical.SpAcquire) or source_key(node) not in sources.sensed_at:
            return node
        wide: physical.Node = replace(node, columns=node.stream.columns, reads=(), predicate=None)
        if node.predicate is not None:
            wide = physical.Select(wide, node.predicate)
        kept = tuple(
            Projection(column.name, ColumnReference(column.name, column.type), column.unit)
            for column in node.schema
        )
        return physical.Project(wide, kept)

    wide_plan = physical.transform_plan(plan, widen)
    at_sink = frozenset(
        path
        for path, node in walk_with_paths(wide_plan)
        if not isinstance(node, physical.Deliver)
        and not (isinstance(node, physical.SpAcquire) and source_key(node) in sources.sensed_at)
    )
    return Cut("every reading shipped as it is", wide_plan, at_sink, control=True)


def _meets(node: physical.Node, interval: int) -> bool:
    if isinstance(node, physical.AggregateEvaluate | physical.Deliver):
        return False  # it follows AGGR_MERGE
    if isinstance(node, physical.TimeWindow):
        return readings_covered(node, interval) > 1
    if isinstance(node, physical.Project):
        made, read = (sum(column_sizes(each, None).values()) for each in (node, node.input))
        return made > read
    return node.attribute_sensitive or isinstance(node, physical.AggregateInit)


def _silent(node: physical.Node) -> bool:
    return isinstance(node, physical.Deliver | physical.Rename | physical.Exchange) or (
        isinstance(node, physical.TimeWindow) and node.elided
    )
