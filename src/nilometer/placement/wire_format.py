"""The format of tuples in memory and on the air.

Under `snee-2010` a tuple is a C struct: its fields in order, each at a multiple of its own size, starting
with the tick of its evaluation (4 bytes). A packet holds tuples of one flow only. Our own format leaves no
gaps, names a tuple's evaluation within the period in one byte, and packs the flows that share a hop together:
a packet is a sequence of segments, each a byte (which fragment, how many tuples) and the tuples. A `time`
that follows from the evaluation is not sent: a mote takes its reading when the agenda says, so the reading's
time is the tick. A partial count or sum of INT is as wide as the greatest possible number of its readings
requires.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WireFormat:
    """`aligned`: fields are at multiples of their size. `evaluation_size`: bytes that name a tuple's
    evaluation. `shared`: flows share packets, in segments of `segment_size` bytes plus their tuples.
    `derives_time`: a tuple holds no `time` that is at a fixed distance from the evaluation's tick. `bounded`:
    counts and sums of INT have the narrowest width that holds every possible value."""

    aligned: bool
    evaluation_size: int
    shared: bool
    segment_size: int = 0
    derives_time: bool = False
    bounded: bool = False

    @property
    def evaluations(self) -> int:
        """The most evaluations that a period can have, so that each has its own number."""
        return 1 << 8 * self.evaluation_size


SNEE_2010_FORMAT = WireFormat(aligned=True, evaluation_size=4, shared=False)

COMPACT_FORMAT = WireFormat(
    aligned=False, evaluation_size=1, shared=True, segment_size=1, derives_time=True, bounded=True
)
