"""Keeps the garbage collector from looking through thousands of standing queries again and again.

A query is some hundred Python objects that stay until it leaves. With 10,000 queries a full collection takes more
than two seconds, in which no round runs, and finds nothing. So the objects are frozen (`gc.freeze`): collections
look only at what came later. Once a quarter as many queries have left, everything is looked at again.

The freeze concerns the whole process, so it is left alone with few queries, except in `serve`, and undone at the end.
Objects without cycles are freed as always.
"""

from __future__ import annotations

import gc

MANY = 500
"""With fewer queries a full collection is cheap."""


class StillHeap:
    """Told whenever queries come or go."""

    def __init__(self) -> None:
        self._still = 0
        """The number of queries when the objects were frozen; 0: they are not."""
        self._left = 0

    def came(self, queries: int) -> None:
        """So many queries run now. After a quarter more, garbage is looked for once, and the rest is frozen."""
        if gc.isenabled() and queries > max(MANY, self._still + self._still // 4):
            gc.collect()
            gc.freeze()
            self._still = queries

    def settle(self, queries: int) -> None:
        """A process that stays has begun: its modules and declarations are there for good. Looking through them takes
        some 70 ms, in which no reading is taken and no answer sent."""
        if gc.isenabled():
            gc.collect()
            gc.freeze()
            self._still = max(MANY, queries)

    def left(self, queries: int = 1) -> None:
        """So many queries have left: their objects may be garbage."""
        self._left += queries
        if self._left > self._still // 4:
            self.thaw()

    def thaw(self) -> None:
        """Let collections look at everything again."""
        if self._still:
            gc.unfreeze()
        self._still = self._left = 0
