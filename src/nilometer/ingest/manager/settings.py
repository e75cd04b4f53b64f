"""How the manager works: policies, bounds, waits. Durations are microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nilometer.dataflow.policy import Policy
from nilometer.ingest.manager.seen_keys import LIMIT
from nilometer.types import MILLISECOND, MINUTE, SECOND


@dataclass(frozen=True)
class ManagerSettings:
    """`policies`: what a stream, by its lower-case name, does when its log takes no more and `backlog_bytes` of readings wait: block, unless
    said otherwise. `buffer_bytes`: the memory of recent entries of all streams, which the queries read (older ones they read in the log); `keys`: how many keys of a
    stream are kept in memory. `look`: how often a source without an event, or another process's log, is looked at; `retry` and
    `retry_most`: the first and the longest wait before a source that failed is opened again."""

    policies: Mapping[str, Policy] = field(default_factory=dict)
    backlog_bytes: int = 16 << 20
    keep_every: int = 10
    buffer_bytes: int = 64 << 20
    keys: int = LIMIT
    look: int = 20 * MILLISECOND
    longest_wait: int = SECOND
    retry: int = SECOND
    retry_most: int = MINUTE

    def policy(self, stream: str) -> Policy:
        """Of a stream."""
        return self.policies.get(stream.lower(), Policy.BLOCK)
