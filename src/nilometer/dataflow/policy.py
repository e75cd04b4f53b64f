"""The policies of a full queue, the outcomes of a put, and the books of a queue.

The law of the books, at any moment and in rows: put = got + waiting + dropped_oldest + dropped_newest +
sampled_out. A refused batch was never taken, so it is in no other account.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class Policy(StrEnum):
    """The ways to treat a batch for which there is no room in memory."""

    DROP_OLDEST = "drop oldest"
    DROP_NEWEST = "drop newest"
    SAMPLE = "sample"
    BLOCK = "block"


class Outcome(StrEnum):
    """The outcome of putting a batch. FULL: the queue took nothing; offer the batch again later. DROPPED:
    some rows were dropped, of this batch or of older ones."""

    ACCEPTED = "accepted"
    DROPPED = "dropped"
    FULL = "full"


@dataclass
class Counts:
    """The books of a queue, in rows. `refused` is in batches."""

    put: int = 0
    got: int = 0
    dropped_oldest: int = 0
    dropped_newest: int = 0
    sampled_out: int = 0
    refused: int = 0

    @property
    def dropped(self) -> int:
        """The rows that no reader will see."""
        return self.dropped_oldest + self.dropped_newest + self.sampled_out

    @property
    def waiting(self) -> int:
        """The rows that are still to be read."""
        return self.put - self.got - self.dropped

    def as_dict(self) -> dict[str, int]:
        """The accounts by name."""
        return asdict(self)
