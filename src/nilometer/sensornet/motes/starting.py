"""A routing tree -> who tells whom when the first evaluation is, for programs that wait for that after their reset.

The sink begins, in the first turn. Every site with children has a turn of its own, parents before children, in which it sends one packet to all
of them: how many ticks are left until the first evaluation. All turns together are a round, and there are three, so that one lost packet leaves
no branch behind. A site that has been told keeps its turns, and hears no more.

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
"""The tick of the first evaluation after switching on, or of the first turn: by then motes that were switched on at the same time listen."""

ROUNDS = 3

AIRTIME = 6
"""Ticks from the beginning of a turn to the moment of which the packet speaks: its end, at a whole tick of who sends it."""

TURN = AIRTIME + 2
"""Ticks of a turn, if clocks agree: who was told in the last one has to be ready."""

MOST_APART = 0.5
"""The largest part of a turn that may be there only because clocks part while motes are told."""


@dataclass(frozen=True)
class Starting:
    """`turns`: the sites that tell others, in their order. `turn`: ticks that each of them has for it."""

    turns: tuple[NodeId, ...]
    turn: int = TURN

    @property
    def round(self) -> int:
        """Ticks in which each has its turn once."""
        return len(self.turns) * self.turn

    @property
    def first(self) -> int:
        """The tick of the first evaluation, after all rounds."""
        return START + ROUNDS * self.round

    @property
    def seconds(self) -> float:
        """How long before the first evaluation a clock may have been set."""
        return ROUNDS * self.round / TICKS

    def turn_of(self, site: NodeId) -> int | None:
        """The tick at which a site has its first turn; None if there is nobody whom it could tell."""
        return START + self.turns.index(site) * self.turn if site in self.turns else None


def starting_for(routing: RoutingTree, drift: float = 0.0) -> Starting:
    """The turns of a tree, long enough for clocks that are off by up to `drift`; refuses those that part faster than they are told."""
    turns = tuple(site for site in reversed(routing.post_order) if routing.children[site])
    # So many ticks, for each tick of a turn, two clocks may be apart at the end that were set in the first turns.
    parting = 2 * drift * ROUNDS * len(turns)
    if parting > MOST_APART:
        raise ConfigurationError(
            "clocks run too far apart to tell motes when to begin",
            detail=f"{len(turns)} sites tell others, one after the other and {ROUNDS} times, and clocks drift by {drift * 1e6:g} ppm",
            hint="expect less drift, or switch all motes on together (without --wait-for-start)",
        )
    return Starting(turns, ceil(TURN / (1 - parting)))
