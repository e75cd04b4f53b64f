"""Calls of many requests that ask for the same -> as few calls as can answer all of them truly.

When a server comes back, its subscribers all come at once and ask the same of the logs and of the station's loop. The
law: the result that a request gets was made after the request came. So whoever comes while a call runs waits for the
next one, and shares it with all others who do. For one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedCalls(Generic[T]):
    """Calls by what they are about."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[T]] = {}
        self._next: dict[Hashable, asyncio.Task[T]] = {}

    async def ask(self, about: Hashable, call: Callable[[], Awaitable[T]]) -> T:
        """The result of a call that begins from now on."""
        found = self._next.get(about)
        if found is None:
            found = self._next[about] = asyncio.ensure_future(self._after(about, call))
            found.add_done_callback(_looked_at)
        # One who goes does not take the others' call away.
        return await asyncio.shield(found)

    async def _after(self, about: Hashable, call: Callable[[], Awaitable[T]]) -> T:
        running = self._running.get(about)
        if running is not None:
            await asyncio.wait((running,))
        own = self._running[about] = self._next.pop(about)
        try:
            return await call()
        finally:
            if self._running.get(about) is own:
                del self._running[about]


def _looked_at(task: asyncio.Task[T]) -> None:
    """Those who have asked may all be gone: then nobody looks at its error."""
    if not task.cancelled():
        task.exception()
