"""How tuples look in memory and on the air.

Under `snee-2010` a tuple is a C struct: its fields in order, each at a multiple of its own size, beginning with the tick
of its evaluation (4 bytes), and a packet holds tuples of one flow only. Our own format leaves no gaps, says in one byte
which evaluation of the period a tuple belongs to, and packs the flows that share a hop together: a packet is a sequence of
segments, each a byte (which fragment, how many tuples) and the tuples.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WireFormat:
    """`aligned`: fields at multiples of their size. `evaluation_size`: bytes that say which evaluation a tuple is of.
    `shared`: flows share packets, in segments of `segment_size` bytes and their tuples."""

    aligned: bool
    evaluation_size: int
    shared: bool
    segment_size: int = 0


SNEE_2010_FORMAT = WireFormat(aligned=True, evaluation_size=4, shared=False)

COMPACT_FORMAT = WireFormat(aligned=False, evaluation_size=1, shared=True, segment_size=1)
