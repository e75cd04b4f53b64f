"""Receipts that the station's loop gives -> coroutines that wait for them, with one wake-up for all receipts of a turn.

`asyncio.wrap_future` wakes the event loop once for each: a system call, in which Python gives the other thread its turn.
With 64 readings that become durable together, the station's loop would wait 64 times to go on. And one timer looks
after all who wait: a Future with a lock and a timer of its own costs as much as a third of a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque

from nilometer.ingest.adapters.push import Receipt


class Slip:
    """What an offer has become, for one coroutine. It is set once, by any thread."""

    __slots__ = ("_error", "_receipt", "_receipts", "_waiting")

    def __init__(self, receipts: Receipts) -> None:
        self._receipts = receipts
        self._receipt: Receipt | None = None
        self._error: BaseException | None = None
        self._waiting = receipts.loop.create_future()

    def done(self) -> bool:
        """Whether it is known."""
        return self._receipt is not None or self._error is not None

    def set_result(self, result: Receipt) -> None:
        """The readings are durable."""
        self._receipt = result
        self._receipts.complete(self)

    def set_exception(self, exception: BaseException) -> None:
        """They were refused."""
        self._error = exception
        self._receipts.complete(self)

    def result(self, _timeout: float | None = None, /) -> Receipt:
        """The receipt, which is there: nobody waits for a slip by this."""
        if self._error is not None:
            raise self._error
        if self._receipt is None:
            raise TimeoutError
        return self._receipt

    def wake(self) -> None:
        """In the event loop: let the coroutine go on, with a receipt or without."""
        if not self._waiting.done():
            self._waiting.set_result(None)

    async def known(self) -> bool:
        """Wait until it is known, or the time is over."""
        await self._waiting
        return self.done()


class Receipts:
    """For one event loop. Whoever waits gives up after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ready: deque[Slip] = deque()
        self._turn = threading.Lock()
        self._rung = False
        self._open: dict[Slip, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop in which all wait."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def slip(self) -> Slip:
        """A slip for an offer that is about to be made."""
        return Slip(self)

    async def wait(self, slip: Slip) -> bool:
        """Wait until it is known. Returns False if it is not in time."""
        self._open[slip] = self.loop.time() + self._seconds
        if self._timer is None:
            self._timer = self.loop.call_later(self._seconds, self._look)
        try:
            return await slip.known()
        finally:
            del self._open[slip]

    def _look(self) -> None:
        """Wake those whose time is over. They stand in the order in which they came."""
        self._timer = None
        now = self.loop.time()
        for slip, until in self._open.items():
            if until > now:
                self._timer = self.loop.call_at(until, self._look)
                return
            slip.wake()

    def complete(self, slip: Slip) -> None:
        """In the thread that has completed it."""
        with self._turn:
            self._ready.append(slip)
            if self._rung:
                return
            self._rung = True
        with contextlib.suppress(RuntimeError):  # the server has ended, and nobody waits
            self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        """In the event loop."""
        with self._turn:
            ready = list(self._ready)
            self._ready.clear()
            self._rung = False
        for slip in ready:
            slip.wake()
