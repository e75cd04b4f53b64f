"""A TCP server: sensors connect and write lines, each a JSON text, a SenML pack or a CSV record.

`tcp://0.0.0.0:4000?token=${AIR_TOKEN}` listens (admission.py says who may write), and `tls://` does with TLS
(server_tls.py). If the first line of a connection consists of column names, it is the CSV header for that connection. A
line longer than `limit` is garbled, up to its end; an unfinished line at the end of a connection is garbled too. When
the inbox is full nothing is read, so the senders wait.

The law: a client that is slow, broken, silent or gone costs the others nothing (connections.py); every line is a
reading or a dead letter.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.errors import ResourceError
from nilometer.ingest.adapters import admission, server_tls
from nilometer.ingest.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.ingest.adapters.connections import LOGIN, Connections
from nilometer.ingest.adapters.inbox import Inbox
from nilometer.ingest.payloads import Decoder, Format, Garbled, Messages, Times
from nilometer.ingest.payloads.csv_lines import CsvLines
from nilometer.types import HOUR, SECOND

OPTIONS = "format time limit receive clients idle".split()
_CHUNK = 1 << 16
_LOOK = 1.0
"""Seconds between two looks for silent connections."""


@dataclass
class _Client:
    """A connection with its unfinished line and its CSV header."""

    connection: socket.socket
    peer: str
    rest: bytearray = field(default_factory=bytearray)
    header: bytes = b""
    begun: bool = False
    overlong: bool = False
    admitted: bool = False
    denied: bool = False
    shaking: bool = False
    """Whether the TLS handshake is under way."""


class TcpLinesAdapter(Adapter):
    """Listens on one port."""

    def __init__(
        self,
        stream: Stream,
        address: Address,
        clock: Clock,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(stream, clock)
        address.check([*OPTIONS, *admission.OPTIONS, *server_tls.OPTIONS])
        self._tls = server_tls.server_context(address)
        self._admission = admission.Admission(address)
        self._seconds = seconds
        self.address = address
        self._limit = address.count("limit", _CHUNK)
        self._clients: Connections[_Client] = Connections(
            address.count("clients", 10_000), address.duration("idle", HOUR) / SECOND
        )
        self._decoder = Decoder(
            stream, format=address.word("format", Format.AUTO), times=address.word("time", Times.EITHER)
        )
        self._csv = CsvLines(tuple(column.name for column in stream.columns), form=stream.form)
        # (payload, peer, arrival, the reason if it is garbled)
        self._inbox: Inbox[tuple[bytes, str, int, str | None]] = Inbox(
            address.count("receive", 100_000), lambda item: len(item[0])
        )
        self.wake = self._inbox.wake
        self._thread: threading.Thread | None = None
        self.port = address.port or 0
        """The port it listens on; the system chooses one if the address names none."""

    def open(self) -> None:
        try:
            self._listener = socket.create_server((self.address.host or "127.0.0.1", self.port))
        except OSError as error:
            raise ResourceError(
                f"cannot listen at {self.address.host}:{self.port}", detail=error.strerror
            ) from None
        self._selector = selectors.DefaultSelector()
        self._stop, self._stopped = socket.socketpair()
        self.port = self._listener.getsockname()[1]
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._stopped, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name=f"tcp {self.stream.name}", daemon=True)
        self._thread.start()

    def read(self) -> ReadResult:
        items = self._inbox.take()
        if not items:
            return self.nothing(Status.END if self._thread is None else Status.NO_VALUE)
        sound = [item for item in items if item[3] is None]
        payloads, peers, arrived, _ = zip(*sound, strict=True) if sound else ((), (), (), ())
        decoded = self._decoder.decode(Messages(payloads, arrived, peers))
        broken = tuple(Garbled(item[0], item[3], item[1]) for item in items if item[3] is not None)
        garbled = broken + decoded.garbled
        return ReadResult(
            Status.NEW_VALUE, decoded.rows, garbled, arrived=items[-1][2], fields=decoded.fields
        )

    def close(self) -> None:
        if self._thread is None:
            return
        self._inbox.close()
        self._stop.send(b"x")
        self._thread.join()
        self._thread = None
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            if key.data is not None:
                self._clients.drop(key.fd)
            key.fileobj.close()
        self._selector.close()
        self._stop.close()

    @property
    def trouble(self) -> str | None:
        """Strangers at the port, or more sensors than there is room for."""
        return self._admission.trouble(self.clock()) or self._crowd

    # ---- the thread --------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while True:
            ready = self._selector.select(_LOOK)
            began = self._seconds()
            for key, _ in ready:
                if key.fileobj is self._stopped:
                    return
                if key.data is None:
                    self._accept()
                elif key.fd in self._selector.get_map():  # an earlier one may have closed it
                    self._receive(key.data)
            now = self._seconds()
            if now - began <= _LOOK:  # else we kept the senders waiting, and their silence is ours
                self._clients.sweep(now, self._login, self._cut)

    @property
    def _login(self) -> float | None:
        """The seconds that a connection may take to say who it is, if it must."""
        return LOGIN if self._admission.required or self._tls is not None else None

    @property
    def _crowd(self) -> str | None:
        if not self._clients.crowded:
            return None
        return f"more than {self._clients.bound} connections (clients=, ulimit -n): silent ones are closed for new ones"

    def _accept(self) -> None:
        try:
            connection, peer = self._listener.accept()
        except OSError:
            return
        if not self._clients.admit(self._seconds(), self._cut):
            connection.close()
            return
        connection.setblocking(False)
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        client = _Client(connection, f"{peer[0]}:{peer[1]}", shaking=self._tls is not None)
        self._clients.add(connection.fileno(), client, self._seconds())
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _shake(self, client: _Client) -> None:
        """Go on with the TLS handshake."""
        assert isinstance(client.connection, ssl.SSLSocket)
        try:
            client.connection.do_handshake()
        except ssl.SSLWantReadError:
            self._selector.modify(client.connection, selectors.EVENT_READ, client)
        except ssl.SSLWantWriteError:
            self._selector.modify(client.connection, selectors.EVENT_WRITE, client)
        except (OSError, ValueError):
            self._admission.deny(self.clock())
            self._end(client)
        else:
            client.shaking = False
            self._selector.modify(client.connection, selectors.EVENT_READ, client)
            if not self._admission.required:
                self._clients.spoke(client.connection.fileno(), client, self._seconds())
            self._receive(client)

    def _receive(self, client: _Client) -> None:
        if client.shaking:
            self._shake(client)
            return
        try:
            data = client.connection.recv(_CHUNK)
            if isinstance(client.connection, ssl.SSLSocket):
                while left := client.connection.pending():  # no event tells of what is decrypted already
                    data += client.connection.recv(left)
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            data = b""
        if not data:
            if client.rest and not client.overlong:
                self._put(client, bytes(client.rest), "the connection ended within the line")
            self._end(client)
            return
        client.rest += data
        *lines, rest = client.rest.split(b"\n")
        client.rest = rest
        if lines:
            self._clients.spoke(client.connection.fileno(), client, self._seconds())
        for line in lines:
            self._line(client, bytes(line))
        if client.denied or (
            self._admission.required and not client.admitted and len(client.rest) > self._limit
        ):
            if not client.denied:
                self._admission.deny(self.clock())
            self._end(client)
            return
        if len(client.rest) > self._limit:
            if not client.overlong:
                self._put(
                    client, bytes(client.rest[: self._limit]), f"a line of more than {self._limit} bytes"
                )
            client.overlong = True
            client.rest.clear()

    def _cut(self, client: _Client) -> None:
        """End a connection that was silent for too long, or makes room for another."""
        if client.rest and not client.overlong:
            self._put(client, bytes(client.rest), "the connection was silent within the line, and was closed")
        self._end(client)

    def _end(self, client: _Client) -> None:
        self._selector.unregister(client.connection)
        self._clients.drop(client.connection.fileno())
        client.connection.close()

    def _line(self, client: _Client, line: bytes) -> None:
        if client.denied:
            return
        if not client.admitted:
            client.admitted = self._admission.admits(line, self.clock())
            client.denied = not client.admitted
            if client.denied or self._admission.required:
                return
        if client.overlong:  # this is the end of the overlong line
            client.overlong = False
            return
        line = line.strip()
        if not line:
            return
        if len(line) > self._limit:
            self._put(client, line[: self._limit], f"a line of more than {self._limit} bytes")
            return
        if not client.begun:
            client.begun = True
            if line[:1] not in b"{[" and self._csv.header(line.decode(errors="replace")) is not None:
                client.header = line + b"\n"
                return
        self._put(client, client.header + line)

    def _put(self, client: _Client, payload: bytes, reason: str | None = None) -> None:
        if self._admission.required and not client.admitted:
            return
        self._inbox.put((payload, client.peer, self.clock(), reason))
