"""Futures that the station's loop completes -> futures of the event loop, with one wake-up for all that complete in a
turn.

`asyncio.wrap_future` wakes the event loop once for each: a system call, in which Python gives the other thread its turn.
With 64 readings that become durable together, the station's loop would wait 64 times to go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any


class Receipts:
    """For one event loop."""

    def __init__(self) -> None:
        self._ready: deque[asyncio.Future[None]] = deque()
        self._turn = threading.Lock()
        self._rung = False

    async def wait(self, done: Future[Any], seconds: float) -> bool:
        """Wait until it is done. Returns False if it is not after so many seconds."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[None] = loop.create_future()
        done.add_done_callback(lambda _: self._complete(loop, waiting))
        timer = loop.call_later(seconds, _give_up, waiting)
        try:
            await waiting
        finally:
            timer.cancel()
        return done.done()

    def _complete(self, loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[None]) -> None:
        """In the thread that has completed it."""
        with self._turn:
            self._ready.append(waiting)
            if self._rung:
                return
            self._rung = True
        with contextlib.suppress(RuntimeError):  # the server has ended, and nobody waits
            loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        """In the event loop."""
        with self._turn:
            ready = list(self._ready)
            self._ready.clear()
            self._rung = False
        for waiting in ready:
            _give_up(waiting)


def _give_up(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
