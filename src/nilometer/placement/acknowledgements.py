"""A hop whose packets are acknowledged and sent again -> how many sendings its slot is to have time for.

As in IEEE 802.15.4 (macMaxFrameRetries) and TinyOS's PacketLink: who receives a packet answers at once with a short
acknowledgement; who misses that sends the packet again, up to `Network.retries` times. All sendings of a slot are as long as the
longest (the beat of TSCH's timeslots), with the wait for the acknowledgement in it. The slot has T beats, so many that with
probability 0.999 no retry is cut off by its end; see `kernels.acknowledged_sendings` for the law of T.

A sender whose last packet was acknowledged, or given up, sleeps: sending is the last that a site does in a period. The
receiver, who cannot know whether its last acknowledgement arrived, listens to the end of the slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.agenda import Transfer

TARGET = 0.999
"""The probability with which a slot is long enough. Of 0.99 a day of 96 slots would lose one; beyond 0.999 the radios listen
for retries that next to never come."""


@dataclass(frozen=True, slots=True)
class Hop:
    """From a site to its parent. `forward` is the quality of the link for packets, `backward` the one for acknowledgements."""

    forward: float
    backward: float
    retries: int

    @property
    def success(self) -> float:
        """The probability that the sender need not send again."""
        return self.forward * self.backward

    def reserved(self, packets: int) -> int:
        """The sendings that the slot is to have time for."""
        from nilometer.kernels.acknowledged_sendings import reserved_sendings

        return reserved_sendings(packets, self.success, self.retries, TARGET)

    def expected(self, packets: int, reserved: int) -> float:
        """The mean number of sendings in such a slot."""
        from nilometer.kernels.acknowledged_sendings import expected_sendings

        return expected_sendings(packets, self.success, self.retries, reserved)


def hop_of(network: Network, site: NodeId, parent: NodeId) -> Hop:
    """The hop over that link, both ways."""
    forward, backward = network.link(site, parent), network.link(parent, site)
    assert forward is not None
    assert backward is not None
    return Hop(forward.quality, backward.quality, network.retries)


def expected_sendings_of(network: Network, transfer: Transfer) -> float:
    """The mean number of sendings in a slot; without retries, its packets."""
    if transfer.reserved is None:
        return float(transfer.packets)
    return hop_of(network, transfer.source, transfer.target).expected(transfer.packets, transfer.reserved)
