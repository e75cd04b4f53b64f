"""What a token may do in a second: requests, and rows of readings. A token bucket for each.

A bucket holds one second's worth, so a burst of that size passes. Rows are known only when they are read: a batch is
taken while the bucket is not empty, and its rows are paid back before the next one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from nilometer.server.problems import LimitError
from nilometer.server.tokens import Token


@dataclass
class Bucket:
    """`rate` a second; `left` may be negative, for what was taken beyond.

    >>> now = [0.0]
    >>> bucket = Bucket(2.0, lambda: now[0])
    >>> [bucket.wait() or bucket.take(1) for _ in range(3)]
    [None, None, 0.5]
    """

    rate: float
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.left = max(1.0, self.rate)
        self._at = self.clock()

    def wait(self) -> float:
        """Seconds until something may be taken; 0: now."""
        now = self.clock()
        self.left = min(max(1.0, self.rate), self.left + (now - self._at) * self.rate)
        self._at = now
        # A request takes a whole one; rows may go below zero.
        return 0.0 if self.left >= 1.0 else (1.0 - self.left) / self.rate

    def take(self, count: int) -> None:
        """Take that many."""
        self.left -= count


class Limits:
    """The buckets of the tokens that have limits. For the one thread of asyncio."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._requests: dict[tuple[str, float], Bucket] = {}
        self._rows: dict[tuple[str, float], Bucket] = {}

    def admit(self, token: Token) -> None:
        """Count a request; refuse one too many."""
        if token.requests is not None:
            bucket = self._of(self._requests, token, token.requests)
            _check(bucket, f"the token '{token.name}' may ask {token.requests:g} times a second")
            bucket.take(1)

    def rows_of(self, token: Token) -> Bucket | None:
        """The bucket for the rows of readings, if they are limited; refuses while it is empty."""
        if token.rows is None:
            return None
        bucket = self._of(self._rows, token, token.rows)
        _check(bucket, f"the token '{token.name}' may add {token.rows:g} rows a second")
        return bucket

    def _of(self, buckets: dict[tuple[str, float], Bucket], token: Token, rate: float) -> Bucket:
        found = buckets.get((token.digest, rate))
        if found is None:
            found = buckets[token.digest, rate] = Bucket(rate, self._clock)
        return found


def _check(bucket: Bucket, told: str) -> None:
    wait = bucket.wait()
    if wait > 0:
        raise LimitError(
            told, hint=f"try again in {max(1, math.ceil(wait))} s", seconds=max(1, math.ceil(wait))
        )
