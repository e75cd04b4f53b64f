"""Readings that come one by one -> groups that are decoded and made durable together.

A turn of the station costs about the same for one reading as for a hundred. A client that waits for its reply sends the
next reading soon after; so once all that were under way have come again, or nobody has come for a moment, they go on
together. A client that is alone waits for nobody.

    offers of all connections ─► [gathered, at most MOST seconds] ─► PushAdapter ─► the station's next turn

The laws: all of this runs in the server's event loop. An offer goes on at most MOST seconds after it came, and each is
answered by its own future, also if it is refused. What is gathered is bounded by the requests under way (callers.py).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from nilometer.ingest.adapters.push import Offer, PushAdapter

GAP = 0.004
"""Seconds without another offer after which nobody else is waited for, if the station is idle."""
MOST = 0.05
"""Seconds after which a group goes on in any case."""


@dataclass
class _Group:
    """The offers of one stream. `wanted`: how many were under way together last; `under_way`: how many the station has."""

    wanted: int = 1
    under_way: int = 0
    offers: list[Offer] = field(default_factory=list)
    began: float = 0.0
    seen: int = 0
    timer: asyncio.TimerHandle | None = None


class Gathering:
    """For one event loop."""

    def __init__(self) -> None:
        self._groups: WeakKeyDictionary[PushAdapter, _Group] = WeakKeyDictionary()

    def put(self, adapter: PushAdapter, offer: Offer) -> None:
        """Let an offer go on with others. Its future has an error if the stream does not take it."""
        group = self._groups.get(adapter)
        if group is None:
            group = self._groups[adapter] = _Group()
        group.offers.append(offer)
        if len(group.offers) >= group.wanted:
            self._send(adapter, group)
        elif group.timer is None:
            loop = asyncio.get_running_loop()
            group.began, group.seen = loop.time(), len(group.offers)
            group.timer = loop.call_later(GAP, self._look, adapter, group)

    def over(self, adapter: PushAdapter) -> None:
        """An offer was answered."""
        group = self._groups.get(adapter)
        if group is not None:
            group.under_way -= 1

    def _look(self, adapter: PushAdapter, group: _Group) -> None:
        """Some time has passed."""
        loop = asyncio.get_running_loop()
        quiet = len(group.offers) == group.seen and not group.under_way
        if quiet or loop.time() - group.began >= MOST - GAP / 2:
            self._send(adapter, group)
            return
        group.seen = len(group.offers)
        group.timer = loop.call_later(GAP, self._look, adapter, group)

    def _send(self, adapter: PushAdapter, group: _Group) -> None:
        offers, group.offers = group.offers, []
        if group.timer is not None:
            group.timer.cancel()
            group.timer = None
        group.under_way += len(offers)
        group.wanted = group.under_way
        for offer, error in adapter.put_all(offers):
            offer.done.set_exception(error)
