"""A routing tree -> which site tells which others the time of the first evaluation, for programs that wait
for it after their reset.

The sink starts, in the first turn. Every site with children has a turn of its own, parents before children,
in which it sends one packet to all its children: how many ticks are left until the first evaluation. All
turns together are a round, and there are three rounds, so that one lost packet leaves no branch behind. A
site that has been told keeps its turns and stops listening.

>>> from nilometer.placement.routing_tree import RoutingTree
>>> starting_for(RoutingTree(0, ((1, 0), (3, 1), (2, 1)), (3, 2))).turns
(0, 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from nilometer.catalog.network import NodeId
from nilometer.errors import ConfigurationError
from nilometer.placement.routing_tree import RoutingTree
from nilometer.sensornet.motes.timekeeping import TICKS

START = TICKS
"""The tick of the first evaluation after switching on, or of the first turn. By then, motes that were
switched on at the same time listen."""

ROUNDS = 3

AIRTIME = 6
"""Ticks from the start of a turn to the moment that the packet refers to: its end, at a whole tick of the
sender."""

TURN = AIRTIME + 2
"""Ticks of a turn if clocks agree. A site that was told in the last turn must be ready."""

MOST_APART = 0.5
"""The largest share of a turn that may be needed only because clocks drift apart while motes are told."""


@dataclass(frozen=True)
class Starting:
    """`turns`: the sites that tell others, in their order. `turn`: the ticks of each turn."""

    turns: tuple[NodeId, ...]
    turn: int = TURN

    @property
    def round(self) -> int:
        """Ticks of a round, in which each site has one turn."""
        return len(self.turns) * self.turn

    @property
    def first(self) -> int:
        """The tick of the first evaluation, after all rounds."""
        return START + ROUNDS * self.round

    @property
    def seconds(self) -> float:
        """The longest time before the first evaluation at which a clock may have been set."""
        return ROUNDS * self.round / TICKS

    def turn_of(self, site: NodeId) -> int | None:
        """The tick of a site's first turn; None if it has no children to tell."""
        return START + self.turns.index(site) * self.turn if site in self.turns else None


def starting_for(routing: RoutingTree, drift: float = 0.0) -> Starting:
    """The turns of a tree, long enough for clocks that are off by up to `drift`. Refuses clocks that drift
    apart faster than motes can be told."""
    turns = tuple(site for site in reversed(routing.post_order) if routing.children[site])
    # How far two clocks set in the first turns may be apart at the end, in ticks per tick of a turn.
    parting = 2 * drift * ROUNDS * len(turns)
    if parting > MOST_APART:
        raise ConfigurationError(
            "clocks run too far apart to tell motes when to begin",
            detail=f"{len(turns)} sites tell others, one after the other and {ROUNDS} times, and clocks drift by {drift * 1e6:g} ppm",
            hint="expect less drift, or switch all motes on together (without --wait-for-start)",
        )
    return Starting(turns, ceil(TURN / (1 - parting)))
