"""How many connections HTTP may hold, how long they may be silent, and how much their bodies may weigh together.

Each connection is a descriptor, and so are the files of logs and states. The law: connections take at most a quarter of
the process's descriptors (`ulimit -n`), besides the half that TCP sources may take; so nobody who only connects can take
a file's place. A connection without a request ends after `SILENT` seconds. If there is no room for a new one, the one
that has been without a request for longest makes room; then the upload of which no byte has come for longest. A
connection whose request is being answered is left alone.

Connections are counted where they are accepted, before TLS or HTTP has seen a byte. All of this runs in the thread of
the server's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from nilometer.ingest.adapters.connections import Slots, half_of_descriptors
from nilometer.ingest.adapters.push import FullError
from nilometer.memory import budget
from nilometer.server.settings import CONNECTIONS, SUBSCRIBERS

SILENT = 10.0
"""Seconds until the headers of the first request are there."""
KEPT = 40.0
"""Seconds from one request to the headers of the next."""

Peer = tuple[str, int]


def most_connections() -> int:
    """How many connections there may be."""
    return min(CONNECTIONS, max(half_of_descriptors() // 2, 1))


def most_subscribers() -> int:
    """How many of them may be result streams, which stay for long: the other half is for those who only ask."""
    return min(SUBSCRIBERS, max(most_connections() // 2, 1))


class Callers:
    """The connections of a server, by their peers' addresses."""

    def __init__(self, slots: Slots | None = None, silent: float = SILENT, kept: float = KEPT) -> None:
        self._slots = slots or Slots(most_connections)
        self._silent = silent
        self._kept = kept
        self._waiting: OrderedDict[Peer, _Connection] = OrderedDict()
        self._busy: dict[Peer, tuple[_Connection, int]] = {}
        self._uploading: OrderedDict[Peer, _Connection] = OrderedDict()
        """Those of the busy ones that owe us bytes of a body."""
        self.displaced = self.refused = 0
        """Connections that were closed for new ones, and those for which there was no room."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._busy)

    def admit(self, connection: _Connection) -> bool:
        """Whether a new connection has room."""
        while not self._slots.take():
            oldest = next(iter(self._waiting.values()), None) or next(iter(self._uploading.values()), None)
            if oldest is None:
                self.refused += 1
                return False
            self.displaced += 1
            oldest.hang_up()
        self._waiting[connection.peer] = connection
        connection.wait(self._silent)
        return True

    def begins(self, peer: Peer) -> None:
        """A request of this connection has begun."""
        connection, under_way = self._busy.get(peer, (self._waiting.pop(peer, None), 0))
        if connection is not None:
            self._busy[peer] = connection, under_way + 1
            connection.wait(None)

    def ends(self, peer: Peer) -> None:
        """A request of this connection has ended."""
        connection, under_way = self._busy.pop(peer, (None, 0))
        if connection is None:
            return
        if under_way > 1:
            self._busy[peer] = connection, under_way - 1
        else:
            self._waiting[peer] = connection
            connection.wait(self._kept)

    def uploads(self, peer: Peer) -> None:
        """A request's body is on its way. Called again for each part, so that the silent ones come first."""
        connection, _ = self._busy.get(peer, (None, 0))
        if connection is not None:
            self._uploading[peer] = connection
            self._uploading.move_to_end(peer)

    def uploaded(self, peer: Peer) -> None:
        """The body is there, or nobody waits for it any more."""
        self._uploading.pop(peer, None)

    def gone(self, connection: _Connection) -> None:
        """A connection has ended."""
        peer = connection.peer
        if self._uploading.get(peer) is connection:
            del self._uploading[peer]
        if self._waiting.get(peer) is connection:
            del self._waiting[peer]
        elif self._busy.get(peer, (None, 0))[0] is connection:
            del self._busy[peer]
        else:
            return  # its place is free already, and another connection may have the same address
        connection.rest()
        self._slots.give()


class _Connection(socket.socket):
    """One connection, which tells when it is closed."""

    peer: Peer
    callers: Callers
    until: float | None = None
    timer: asyncio.TimerHandle | None = None

    def wait(self, seconds: float | None) -> None:
        """Hang up in so many seconds, or never. One timer serves many requests: it looks again when it is too early."""
        if seconds is None:
            self.until = None
            return
        loop = asyncio.get_running_loop()
        self.until = loop.time() + seconds
        if self.timer is not None and self.timer.when() > self.until:
            self.timer.cancel()
            self.timer = None
        if self.timer is None:
            self.timer = loop.call_at(self.until, self._look)

    def _look(self) -> None:
        self.timer = None
        if self.until is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self.until:
            self.timer = loop.call_at(self.until, self._look)
        else:
            self.hang_up()

    def rest(self) -> None:
        """Look no more."""
        self.until = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def hang_up(self) -> None:
        """End the connection. Its place is free at once; the event loop then closes it."""
        self.callers.gone(self)
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        super().close()
        self.callers.gone(self)


class Listener(socket.socket):
    """A listening socket that accepts no more than there is room for."""

    callers: Callers | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection. Without room it is closed, and asyncio looks again when the next one is there."""
        number, address = self._accept()  # type: ignore[attr-defined]
        connection = _Connection(self.family, self.type, self.proto, fileno=number)
        # asyncio does this only for sockets that were made for IPPROTO_TCP by name. Without it the second part of each
        # answer waits 40 ms for the client's delayed acknowledgement.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert self.callers is not None, "a listener that nobody counts for"
        connection.peer, connection.callers = (address[0], address[1]), self.callers
        if not self.callers.admit(connection):
            connection.close()
            raise ConnectionAbortedError
        return connection, address


class Bodies:
    """The bytes of all request bodies that are being read or answered."""

    def __init__(self, most: Callable[[], int] = lambda: budget().inbox) -> None:
        self._most = most
        self._room = 0
        self.bytes = 0

    def add(self, size: int) -> None:
        """Count what has arrived. Raises if the bodies of all requests together become too large."""
        if self.bytes + size > self._room:
            self._room = self._most()
            if self.bytes + size > self._room:
                raise FullError(
                    f"the requests under way hold {self.bytes >> 10} KiB, and there is no room for more now",
                    hint="send it again in a moment, or in smaller parts",
                )
        self.bytes += size

    def give(self, size: int) -> None:
        """A request is over."""
        self.bytes -= size
