"""The settings of the stream manager: policies, bounds, waits. Durations are in microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nilometer.dataflow.policy import Policy
from nilometer.ingest.manager.seen_keys import LIMIT
from nilometer.memory import budget
from nilometer.types import MILLISECOND, MINUTE, SECOND


@dataclass(frozen=True)
class ManagerSettings:
    """`policies`: by a stream's lower-case name, what happens when its log accepts no more and
    `backlog_bytes` of readings wait; the default is BLOCK. `buffer_bytes`: the memory for recent entries of
    all streams; queries read older entries from the log. `keys`: how many keys of a stream stay in memory.
    `look`: how often to poll a source that has no wake-up event, or the log of another process. `retry` and
    `retry_most`: the first and the longest wait before a source that failed is opened again."""

    policies: Mapping[str, Policy] = field(default_factory=dict)
    backlog_bytes: int = field(default_factory=lambda: budget().backlog)
    keep_every: int = 10
    buffer_bytes: int = field(default_factory=lambda: budget().ring)
    keys: int = LIMIT
    look: int = 20 * MILLISECOND
    longest_wait: int = SECOND
    retry: int = SECOND
    retry_most: int = MINUTE

    def policy(self, stream: str) -> Policy:
        """The policy of a stream."""
        return self.policies.get(stream.lower(), Policy.BLOCK)
