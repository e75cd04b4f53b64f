"""How far clocks may drift apart -> how motes keep time: the guard of a slot, and the drifts that are
refused.

A child sets its clock by its parent's once a period, in their slot: the acknowledgement says when the packet
came. (If none comes, the child corrects by its drift in the periods before: `clock_set` in
`runtime/send_again.c`.) When the two meet again, they are apart by their drift in a period, at most twice the
drift of one clock, and by the ticks to which both round. By then the parent has corrected its own clock by
its own drift, so a site's error against the sink adds up along its path. Neighbours with different parents,
whose slots follow each other, may be apart by twice the drift per hop. Each of their slots has room for half
of that at either end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from nilometer.errors import ConfigurationError, UnsupportedError
from nilometer.placement import CostParameters, Placement

TICKS = 1024
"""Ticks per second of a mote's clock."""

PATIENCE = 6
"""Ticks that a sender waits for an acknowledgement. It takes four and a half ticks from the end of the
packet, and the tick in which that falls may be nearly over. An acknowledgement that tells the time has two
more bytes, which take one tick more."""

MOST_APART = 8
"""A guard is at most one part in this many of the acquisition interval, so that readings belong to their
evaluation by any clock."""

LONGEST_GUARD = 1 << 14
"""Ticks. The time in an acknowledgement has 16 bits, for a slot with two guards. So has the difference of two
clocks, even after a period without an acknowledgement."""

MEET = "expect less drift, or let sites meet more often: an earlier delivery, a smaller buffering factor"
"""The hint of both refusals."""


@dataclass(frozen=True)
class Timekeeping:
    """`drift`: the share by which a clock may be fast or slow. `guard`: ticks by which a child may be early
    or late in its slot."""

    drift: float = 0.0
    guard: int = 0

    @property
    def drifts(self) -> bool:
        """Whether clocks drift and must be set."""
        return self.drift > 0

    @property
    def patience(self) -> int:
        """Ticks that a sender waits for an acknowledgement."""
        return PATIENCE + self.drifts

    @property
    def guard_milliseconds(self) -> float:
        """The guard in milliseconds."""
        return self.guard * 1000 / TICKS

    def costs(self, costs: CostParameters) -> CostParameters:
        """The costs with a guard at either end of a slot, and acknowledgements that tell the time."""
        told = 2 * costs.transmit_byte
        return replace(
            costs,
            radio_sync_window=costs.radio_sync_window + self.guard_milliseconds,
            await_acknowledgement=costs.await_acknowledgement + 1000 / TICKS,
            transmit_acknowledgement=costs.transmit_acknowledgement + told,
        )


EXACT = Timekeeping()
"""All clocks agree."""


def timekeeping_for(drift: float, placement: Placement, before: float = 1.0) -> Timekeeping:
    """How the motes of a placement keep time; refuses a drift that they cannot handle. `before`: how many
    seconds before the first evaluation the clocks agreed, at the reset or when motes were told the start."""
    if not placement.network.retries:
        raise UnsupportedError(
            "motes set their clocks by acknowledgements, and there are none",
            detail=f"clocks drift by {drift * 1e6:g} ppm, and network '{placement.network.name}' says retries = 0",
            hint="let packets be acknowledged: --retries 1, or retries in the network",
        )
    agenda = placement.agenda
    depth = max(placement.routing.depths.values())
    meeting = agenda.seconds(agenda.period) + before  # it is longest before the first meeting
    # Both ends round to ticks, and so does every site above.
    guard = ceil(max(2, depth) * drift * meeting * TICKS) + 2 * depth
    interval = agenda.seconds(agenda.alpha)
    if guard > interval * TICKS / MOST_APART:
        raise ConfigurationError(
            "clocks run too far apart for this acquisition interval",
            detail=f"those that drift by {drift * 1e6:g} ppm are up to {guard / TICKS:.3f} s apart after a period of"
            f" {agenda.seconds(agenda.period):g} s, at {depth} hops from the sink; readings are {interval:g} s apart",
            hint=MEET,
        )
    if guard > LONGEST_GUARD:
        raise ConfigurationError(
            "clocks run too far apart to set them by acknowledgements",
            detail=f"those that drift by {drift * 1e6:g} ppm are up to {guard / TICKS:.3f} s apart after a period of"
            f" {agenda.seconds(agenda.period):g} s; an acknowledgement tells {LONGEST_GUARD / TICKS:g} s",
            hint=MEET,
        )
    return Timekeeping(drift, guard)
