"""The books of a queue that may spill to disk."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.dataflow.policy import Counts


@dataclass
class SpillCounts(Counts):
    """The books of a queue, in rows, with those written to disk; `spilled_bytes` is the size of their files."""

    spilled: int = 0
    spilled_bytes: int = 0
