"""The stage `routing`: the tree from the sink down, with children indented."""

from __future__ import annotations

from nilometer.catalog.network import NodeId
from nilometer.placement.placement import Placement
from nilometer.placement.text.tables import listed


def routing_text(placement: Placement) -> str:
    """The routing tree, with marks for the sink and for the sites that sense."""
    tree, network = placement.routing, placement.network
    sources = set(tree.sources)
    unused = [node.id for node in network.nodes if node.id not in tree]
    head = (
        f"ROUTING [{tree.heuristic}; {len(tree.post_order)} of {len(network.nodes)} nodes,"
        f" {len(sources)} source{'' if len(sources) == 1 else 's'}, depth {max(tree.depths.values())}]"
    )
    lines = [head]

    def show(site: NodeId, depth: int) -> None:
        marks = [mark for mark, holds in (("sink", site == tree.sink), ("source", site in sources)) if holds]
        link = network.link(site, tree.parents[site]) if site in tree.parents else None
        if link is not None and link.quality < 1:
            marks.append(f"quality {link.quality:g}")
        lines.append("  " * depth + str(site) + (f" ({', '.join(marks)})" if marks else ""))

    waiting = [(tree.sink, 1)]
    while waiting:  # no recursion: a chain of 2,000 nodes is deeper than Python's recursion limit
        site, depth = waiting.pop()
        show(site, depth)
        waiting.extend((child, depth + 1) for child in reversed(tree.children[site]))
    if unused:
        lines.append(f"not used: {listed(unused)}")
    return "\n".join(lines)
