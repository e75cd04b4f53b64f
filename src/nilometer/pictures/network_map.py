"""A placement -> a map: nodes at their positions, the routing tree, and the fragments at each site."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nilometer.catalog.network import Network, NodeId
from nilometer.pictures.colours import DEAD, INK, LINK, RADIO, RELAY, UNUSED, fragment_colour
from nilometer.placement import Placement

MOST_LABELS = 120
"""In a network with more nodes than this, nodes have no names, and sources have no rings."""


def draw_network(
    placement: Placement, path: Path | BinaryIO, dead: Collection[NodeId] = (), network: Network | None = None
) -> None:
    """Draw the map; as SVG if the path is an open file. `dead` nodes are crossed out, and so are those that reach the sink only through them.
    `network` is the one before the deaths, where the plan knows only the living."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    network, routing = network or placement.network, placement.routing
    places = _places(placement, network)
    lost = cut_off(network, dead)
    small = len(network.nodes) <= MOST_LABELS
    figure = Figure(figsize=(8, 6.5), layout="constrained")
    axes = figure.subplots()
    for link in network.links:
        (x, y), (u, v) = places[link.source], places[link.target]
        axes.plot((x, u), (y, v), color=LINK, linewidth=0.8, zorder=1)
    for child, parent in routing.edges:
        (x, y), (u, v) = places[child], places[parent]
        axes.annotate(
            "",
            xy=(u, v),
            xytext=(x, y),
            arrowprops={
                "arrowstyle": "-|>",
                "color": INK,
                "linewidth": 1.4 if small else 0.7,
                "shrinkA": 6,
                "shrinkB": 8,
            },
            zorder=2,
        )
    size = 260 if small else 24
    for node in network.nodes:
        fragments = placement.placed.fragments_at.get(node.id, ())
        # The fragment nearest to the answer gives the colour; the label names the others.
        colour = (
            fragment_colour(fragments[-1].number) if fragments else RELAY if node.id in routing else UNUSED
        )
        if node.id in dead or node.id in lost:
            colour = DEAD if node.id in dead else UNUSED
        marker = "s" if node.id == network.sink else "o"
        edge = INK if node.id in routing else RADIO
        axes.scatter(
            *places[node.id], s=size, color=colour, edgecolors=edge, linewidths=1, marker=marker, zorder=3
        )
        if node.id in dead or node.id in lost:
            axes.scatter(
                *places[node.id], s=size, color=DEAD if node.id in lost else INK, marker="x", zorder=5
            )
        if small:
            dark = colour in (fragment_colour(0), fragment_colour(6))
            crossed = node.id in dead or node.id in lost  # a cross would hide the name
            axes.annotate(
                str(node.id),
                places[node.id],
                xytext=(0, -14) if crossed else (0, 0),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=7,
                color="white" if dark and not crossed else INK,
                zorder=4,
            )
            names = " ".join(fragment.name for fragment in fragments)
            axes.annotate(
                names,
                places[node.id],
                xytext=(0, 11),
                textcoords="offset points",
                ha="center",
                fontsize=6,
                zorder=4,
            )
    handles = [
        Line2D(
            [],
            [],
            marker="o",
            linestyle="",
            color=fragment_colour(f.number),
            label=f"{f.name}: {_words(f.operators)}",
        )
        for f in placement.fragments
    ]
    handles.append(Line2D([], [], marker="o", linestyle="", color=RELAY, label="relays"))
    handles.append(
        Line2D([], [], marker="o", linestyle="", color=UNUSED, markeredgecolor=RADIO, label="takes no part")
    )
    if dead:
        handles.append(
            Line2D([], [], marker="X", linestyle="", color=DEAD, markeredgecolor=INK, label="dead")
        )
    if lost:
        handles.append(Line2D([], [], marker="x", linestyle="", color=DEAD, label="cut off"))
    axes.legend(handles=handles, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.set_title(f"routing tree and fragments ({routing.heuristic})")
    axes.margins(0.1)
    axes.set_aspect("equal")
    axes.set_axis_off()
    figure.savefig(path, bbox_inches="tight", format=None if isinstance(path, Path) else "svg")


def cut_off(network: Network, dead: Collection[NodeId]) -> set[NodeId]:
    """The living nodes that cannot reach the sink without the dead ones (breadth-first search)."""
    if not dead:
        return set()
    reached, waiting = {network.sink}, [network.sink]
    while waiting:
        for node in network.neighbours(waiting.pop()):
            if node not in reached and node not in dead:
                reached.add(node)
                waiting.append(node)
    return {node.id for node in network.nodes} - reached - set(dead)


def _words(operators: tuple[object, ...]) -> str:
    return ", ".join(dict.fromkeys(getattr(operator, "operator", "") for operator in reversed(operators)))


def _places(placement: Placement, network: Network) -> dict[NodeId, tuple[float, float]]:
    """The positions of the nodes. A network without positions is drawn as its tree, with the other nodes
    beside it."""
    known = {node.id: node.location for node in network.nodes if node.location is not None}
    if len(known) == len(network.nodes):
        return known
    return _as_a_tree(placement, network)


def _as_a_tree(placement: Placement, network: Network) -> dict[NodeId, tuple[float, float]]:
    routing = placement.routing
    across: dict[NodeId, float] = {}
    leaves = 0
    for site in routing.post_order:
        children = routing.children[site]
        if children:
            across[site] = float(np.mean([across[child] for child in children]))
        else:
            across[site] = float(leaves)
            leaves += 1
    found = {site: (across[site], -float(routing.depths[site])) for site in routing.post_order}
    others = [node.id for node in network.nodes if node.id not in found]
    return found | {node: (leaves + 1.0, -float(row)) for row, node in enumerate(others)}
