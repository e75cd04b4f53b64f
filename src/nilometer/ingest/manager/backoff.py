"""Growing waits: the first is `first`, each further one twice as long, none longer than `longest`.

>>> backoff, waits = Backoff(1, 5), []
>>> for _ in range(4):
...     wait, backoff = backoff.failed()
...     waits.append(wait)
>>> waits, backoff.succeeded().failed()[0]
([1, 2, 4, 5], 1)
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Backoff:
    """`failures`: how often it failed since it last succeeded."""

    first: int
    longest: int
    failures: int = 0

    def failed(self) -> tuple[int, Backoff]:
        """How long to wait now, and what comes after it."""
        wait = min(self.first << min(self.failures, 30), self.longest)
        return wait, replace(self, failures=self.failures + 1)

    def succeeded(self) -> Backoff:
        """The next wait is the first one again."""
        return replace(self, failures=0)
