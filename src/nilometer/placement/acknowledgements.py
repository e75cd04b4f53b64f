"""A hop whose packets are acknowledged and retried -> how many transmissions its slot must have time for.

As in IEEE 802.15.4 (macMaxFrameRetries) and TinyOS's PacketLink, the receiver answers a packet at once with a
short acknowledgement. A sender that misses the acknowledgement sends the packet again, up to
`Network.retries` times. Every transmission of a slot takes as long as the longest one (the beat of TSCH's
timeslots), including the wait for the acknowledgement. The slot has T beats: enough that with probability
0.999 its end cuts off no retry. See `kernels.acknowledged_sendings` for the law of T.

A sender sleeps once its last packet was acknowledged or given up, because sending is the last task of a site
in a period. The receiver cannot know whether its last acknowledgement arrived, so it listens to the end of
the slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.agenda import Transfer

TARGET = 0.999
"""The probability that a slot is long enough. With 0.99, about one of the 96 slots of a day would be too
short. Above 0.999 the radios listen for retries that almost never come."""


@dataclass(frozen=True, slots=True)
class Hop:
    """The hop from a site to its parent. `forward` is the link quality for packets, `backward` for
    acknowledgements."""

    forward: float
    backward: float
    retries: int

    @property
    def success(self) -> float:
        """The probability that a transmission is acknowledged, so that the sender need not repeat it."""
        return self.forward * self.backward

    def reserved(self, packets: int) -> int:
        """The number of transmissions that the slot must have time for."""
        from nilometer.kernels.acknowledged_sendings import reserved_sendings

        return reserved_sendings(packets, self.success, self.retries, TARGET)

    def expected(self, packets: int, reserved: int) -> float:
        """The mean number of transmissions in such a slot."""
        from nilometer.kernels.acknowledged_sendings import expected_sendings

        return expected_sendings(packets, self.success, self.retries, reserved)


def hop_of(network: Network, site: NodeId, parent: NodeId) -> Hop:
    """The hop over that link, with its quality in both directions."""
    forward, backward = network.link(site, parent), network.link(parent, site)
    assert forward is not None
    assert backward is not None
    return Hop(forward.quality, backward.quality, network.retries)


def expected_sendings_of(network: Network, transfer: Transfer) -> float:
    """The mean number of transmissions in a slot; without retries, the number of its packets."""
    if transfer.reserved is None:
        return float(transfer.packets)
    return hop_of(network, transfer.source, transfer.target).expected(transfer.packets, transfer.reserved)
