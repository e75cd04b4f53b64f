"""Observations that clients post one by one -> groups that are checked, written and looked up together.

To look at the catalog, to wait for the disk and to find the new positions in the log costs about the same for one
Observation as for fifty. So those that come while others are under way wait for them, and go on together. A client
that is alone waits for nobody.

The laws: all of this runs in the server's event loop, the work in threads that may wait. Each request has its own
reply, and what is wrong with one concerns no other. One group of at most MOST is under way: a second one could be checked meanwhile,
but each would be half as large, and Python runs one thread at a time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nilometer.server.desk import Desk
    from nilometer.server.sensorthings.service import Asked, Reply, Service

MOST = 500
"""Observations of a group."""


class Observing:
    """For one event loop."""

    def __init__(self, desk: Desk, service: Service) -> None:
        self._desk = desk
        self._service = service
        self._waiting: deque[tuple[Asked, asyncio.Future[Reply]]] = deque()
        self._group: asyncio.Task[None] | None = None

    async def add(self, asked: Asked) -> Reply:
        """Add the Observation of a request. Raises why it was refused."""
        done: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, done))
        self._begin()
        return await done

    def _begin(self) -> None:
        if self._waiting and self._group is None:
            self._group = asyncio.ensure_future(self._run())
            self._group.add_done_callback(self._ended)

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._group = None
        self._begin()

    async def _run(self) -> None:
        # Those that have come in the same turn of the event loop are here by now.
        group = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
        asked = [one for one, _ in group]
        outcomes: list[Reply | Exception]
        try:
            outcomes = [*await self._desk.wait_for(lambda: self._service.observe(asked))]
        except Exception as error:
            outcomes = (
                [error for _ in group] if len(group) == 1 else [await self._alone(one) for one in asked]
            )
        for (_, done), outcome in zip(group, outcomes, strict=True):
            if done.done():
                continue  # the client has gone
            if isinstance(outcome, Exception):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)

    async def _alone(self, asked: Asked) -> Reply | Exception:
        """A group has met a bug of ours: it is told to the one whose request it is."""
        try:
            outcome = (await self._desk.wait_for(lambda: self._service.observe([asked])))[0]
        except Exception as error:
            return error
        return outcome
