"""A peer over TCP: a thread with an event loop that carries packets between a `Peer` and its connections.

    accept ─► frames ─► wire.read ─► peer.receive      peer.take ─► wire.frame ─► a connection to each peer

Only the loop touches the peer: `call` lets it do something and returns the result. A connection that breaks loses the
packets on it, as the simulator's network does; the peer sends them again (delivery.py). At most `MOST_WAITING` bytes
wait for a connection; beyond that packets are dropped, and sent again later.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TypeVar

from nilometer.errors import ConfigurationError, ResourceError
from nilometer.overlay.indexing import warm_up
from nilometer.overlay.messages import MOST_BYTES, WireError
from nilometer.overlay.peer import Peer
from nilometer.overlay.ring import Contact
from nilometer.overlay.wire import ADVICE, PREFIX, Wire, advice_of
from nilometer.types import MILLISECOND, SECOND

T = TypeVar("T")

TICK = 100 * MILLISECOND
MOST_WAITING = 4 * MOST_BYTES
CONNECTING = 2.0
"""Seconds until a connection is given up."""
ARRIVING = 60.0
"""Seconds that a connection may take for its first frame: whoever has no key must not hold it."""
MOST_ARRIVING = 8 * MOST_BYTES
"""The most bytes of such first frames at once: they are not authenticated before they are whole."""
MOST_CONNECTIONS = 2_048


class TcpPeer:
    """Runs a peer until it is closed. `clock` tells the time in microseconds; `turn` is called after every event, in
    the loop, and must not wait."""

    def __init__(
        self, peer: Peer, key: bytes, clock: Callable[[], int], turn: Callable[[], None] | None = None
    ) -> None:
        self.peer, self.wire = peer, Wire(key)
        self._clock, self._turn = clock, turn
        self._loop = asyncio.new_event_loop()
        self._writers: dict[str, asyncio.StreamWriter | None] = {}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepted = self._arriving = 0
        self.failure: BaseException | None = None
        self.troubles: dict[str, str] = {}
        """Why a peer is not reached, or refuses our frames, by address. It is not authenticated: a hint for people."""
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="peer", daemon=True)
        started: Future[None] = Future()
        self._thread.start()
        self._loop.call_soon_threadsafe(lambda: self._spawn(self._start(started)))
        started.result()

    def call(self, do: Callable[[], T]) -> T:
        """Do something with the peer, in its loop; returns the result or raises the error."""
        if threading.current_thread() is self._thread:
            return do()
        if self._ended:
            raise ResourceError("this peer has left the ring")
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(do())
            except BaseException as error:
                done.set_exception(error)
            self._carry()

        self._loop.call_soon_threadsafe(run)
        return done.result()

    def post(self, do: Callable[[], object]) -> None:
        """Let the loop do something with the peer; does not wait. A peer that has ended does nothing."""
        if self._ended:
            return

        def run() -> None:
            do()
            self._carry()

        self._loop.call_soon_threadsafe(run)

    def close(self, *, leaving: bool = True) -> None:
        """Hand over and leave, if there is somebody to hand over to; then end."""
        if leaving and not self._ended:
            with contextlib.suppress(Exception):
                self.call(lambda: self.peer.leave(self._clock()))
                asyncio.run_coroutine_threadsafe(self._drained(), self._loop).result(5)
        if not self._ended:
            self._ended = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    # ---- in the loop -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            warm_up()
            self._loop.run_forever()
        finally:
            for writer in self._writers.values():
                if writer is not None:
                    writer.close()
            if self._server is not None:
                self._server.close()
            # Connections that have just come have tasks that were not yet begun.
            while tasks := asyncio.all_tasks(self._loop):
                for task in tasks:
                    task.cancel()
                self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.close()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task: asyncio.Task[None] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self, started: Future[None]) -> None:
        host, port = split_address(self.peer.me.address)
        try:
            self._server = await asyncio.start_server(self._accept, host, port)
        except OSError as error:
            started.set_exception(
                ConfigurationError(f"no peer can listen at {self.peer.me.address}: {error.strerror}")
            )
            return
        self._spawn(self._ticks())
        started.set_result(None)

    async def _ticks(self) -> None:
        while True:
            try:
                self.peer.tick(self._clock())
                self._carry()
            except Exception as error:
                self._failed(error)
            await asyncio.sleep(TICK / SECOND)

    def _failed(self, error: Exception) -> None:
        self.failure = error
        self.wire.refused[f"a bug of ours: {type(error).__name__}: {error}"[:200]] += 1

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.current_task())  # type: ignore[arg-type]
        self._accepted += 1
        try:
            if self._accepted > MOST_CONNECTIONS:
                self.wire.refuse("a connection beyond all that are allowed")
                return
            known = False
            while True:
                async with asyncio.timeout(None if known else ARRIVING):
                    data = await self._frame(reader, known=known)
                if data is None:
                    return
                packet = self.wire.read(self._clock(), data)
                if packet is None:
                    writer.write(advice_of(self.wire.refusal))
                    return  # whoever sends what is no frame of ours is not listened to
                known = True
                self.troubles.pop(packet.sender.address, None)
                try:
                    self.peer.receive(self._clock(), packet)
                    self._carry()
                except Exception as error:
                    self._failed(error)
        except asyncio.IncompleteReadError as error:
            if error.partial:
                self.wire.refuse("a frame that is cut off")
        except TimeoutError:
            self.wire.refuse("a connection without a frame")
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._accepted -= 1
            writer.close()
            self._tasks.discard(asyncio.current_task())

    async def _frame(self, reader: asyncio.StreamReader, *, known: bool) -> bytes | None:
        """The next frame of a connection; None if it is refused before it is read."""
        (length,) = PREFIX.unpack(await reader.readexactly(PREFIX.size))
        if length > MOST_BYTES:
            self.wire.refuse("a frame that is too long")
            return None
        if known:
            return await reader.readexactly(length)
        if self._arriving + length > MOST_ARRIVING:
            self.wire.refuse("a first frame while too many others arrive")
            return None
        self._arriving += length
        try:
            return await reader.readexactly(length)
        finally:
            self._arriving -= length

    def _carry(self) -> None:
        for receiver, packet in self.peer.take():
            try:
                frame = self.wire.frame(self._clock(), packet)
            except WireError as error:
                self.wire.refuse(error.message)
                continue
            self._send(receiver, frame)
        if self._turn is not None:
            self._turn()

    def _send(self, receiver: Contact, frame: bytes) -> None:
        address = receiver.address
        if address not in self._writers:
            self._writers[address] = None
            self._spawn(self._connect(receiver, frame))
            return
        writer = self._writers[address]
        if writer is None:
            return  # it is being connected to; what is lost is sent again
        if writer.is_closing():
            del self._writers[address]
            self._send(receiver, frame)
        elif writer.transport.get_write_buffer_size() < MOST_WAITING:
            writer.write(frame)

    async def _connect(self, receiver: Contact, first: bytes) -> None:
        address = receiver.address
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_connection(*split_address(address)), CONNECTING
            )
        except ConnectionRefusedError:
            # Its machine says that nobody listens there: that is sooner known than by waiting.
            self._writers.pop(address, None)
            self.troubles[address] = "nobody listens there"
            self.peer.delivery.give_up(receiver)
            return
        except (OSError, TimeoutError, ValueError) as error:
            self._writers.pop(address, None)
            self.troubles[address] = f"no connection: {getattr(error, 'strerror', None) or 'no answer'}"
            return
        if not self.troubles.get(address, "").startswith("it "):
            self.troubles.pop(address, None)
        self._writers[address] = writer
        writer.write(first)
        try:
            with contextlib.suppress(ConnectionError):
                said = await reader.read(1)  # nothing, when the other ends, or why it refuses our frames
                if said in ADVICE:
                    self.troubles[address] = f"it refuses our frames: {ADVICE[said][1]}"
        finally:
            if self._writers.get(address) is writer:
                del self._writers[address]
            writer.close()

    async def _drained(self) -> None:
        while self.peer.delivery.under_way:
            await asyncio.sleep(0.02)


def split_address(address: str) -> tuple[str, int]:
    """
    >>> split_address("127.0.0.1:7001")
    ('127.0.0.1', 7001)
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigurationError(
            f"'{address}' is no address of a peer", hint="write HOST:PORT, such as 127.0.0.1:7001"
        )
    return host.strip("[]"), int(port)
