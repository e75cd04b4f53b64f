"""The tuples that cross a hop in a period -> how many packets they take.

Under `snee-2010` every flow fills packets of its own. Otherwise tuples of one kind (from one fragment, for
one consumer) follow each other, whichever site they come from, and kinds share packets, with one segment
each. A tuple is never split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nilometer.errors import UnsupportedError
from nilometer.placement.placed_plan import Flow
from nilometer.placement.wire_format import WireFormat


@dataclass(frozen=True, slots=True)
class Load:
    """Tuples of one kind that cross a hop: `flows` flows, each of `rows` tuples in one evaluation of every
    `stride`."""

    rows: int
    size: int
    stride: int = 1

    def tuples(self, beta: int) -> int:
        """The most tuples of a period."""
        return self.rows * -(-beta // self.stride)


def loads_of(flows: Iterable[Flow], wire: WireFormat) -> tuple[Load, ...]:
    """The loads that fill separate packets."""
    if not wire.shared:
        return tuple(Load(flow.rows, flow.size, flow.stride) for flow in flows)
    kinds: dict[tuple[int, int, int], Load] = {}
    for flow in flows:
        key = (flow.fragment, flow.consumer, flow.stride)
        before = kinds.get(key)
        kinds[key] = Load(flow.rows + (before.rows if before else 0), flow.size, flow.stride)
    return tuple(kinds.values())


def packets_for(loads: Sequence[Load], beta: int, room: int, wire: WireFormat) -> int:
    """The packets of a period; `room` is what a packet has for tuples.

    >>> from nilometer.placement.wire_format import COMPACT_FORMAT, SNEE_2010_FORMAT
    >>> packets_for([Load(3, 5), Load(1, 3)], 2, 23, COMPACT_FORMAT)
    2
    >>> packets_for([Load(1, 16)] * 3 + [Load(1, 12)], 29, 23, SNEE_2010_FORMAT)
    116
    """
    if not wire.shared:
        return sum(-(-load.tuples(beta) // (room // load.size)) for load in loads)
    packets, left = 0, 0
    for load in loads:
        tuples = load.tuples(beta)
        tuples -= max(0, min(tuples, (left - wire.segment_size) // load.size))
        placed = load.tuples(beta) - tuples
        if placed:
            left -= wire.segment_size + placed * load.size
        each = (room - wire.segment_size) // load.size
        if tuples:
            packets += -(-tuples // each)
            last = tuples % each or each
            left = room - wire.segment_size - last * load.size
    return packets


def bytes_for(loads: Sequence[Load], beta: int, packets: int, overhead: float, wire: WireFormat) -> float:
    """The bytes of those packets: the tuples, and for each packet its overhead and the head of a segment."""
    content = sum(load.tuples(beta) * load.size for load in loads)
    return content + packets * (overhead + wire.segment_size)


def check_fits(fragment: str, size: int, room: int, wire: WireFormat, *, fixed: bool = False) -> None:
    """Refuse a tuple that no packet can hold. `fixed`: the packet size cannot be changed."""
    largest = room - wire.segment_size
    if size > largest:
        longer = "" if fixed else ", or raise the network's packet_payload"
        raise UnsupportedError(
            f"a tuple of {fragment} is larger than a packet",
            detail=f"it takes {size} bytes, and a packet has room for {largest}",
            hint=f"select fewer columns, declare narrower ones (INT(8), FLOAT(32)){longer}",
        )
