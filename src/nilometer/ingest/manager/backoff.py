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
    """Exponential backoff. `failures` counts the failures since the last success."""

    first: int
    longest: int
    failures: int = 0

    def failed(self) -> tuple[int, Backoff]:
        """The wait after this failure, and the backoff for the next one."""
        wait = min(self.first << min(self.failures, 30), self.longest)
        return wait, replace(self, failures=self.failures + 1)

    def succeeded(self) -> Backoff:
        """Start again with the first wait."""
        return replace(self, failures=0)
