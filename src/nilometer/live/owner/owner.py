"""The owner of a data directory: one station, and the requests of its clients.

    clients ─► server (a thread each) ─► submit ─► [queue] ─► attend, in the station's loop ─► station

The laws: only the loop touches the station, so no query can tell who asked it, nor which others run. A request
either takes effect between two rounds or not at all. A client that goes, however it goes, leaves nothing.
A client that is slow costs nobody memory: beyond CLIENT_ROWS its query is not fed, and catches up from the log.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import polars as pl

from nilometer.catalog.peer_streams import shown
from nilometer.dataflow.failures import Caught
from nilometer.errors import ConfigurationError, NilometerError, ResourceError
from nilometer.live.activity import Activities
from nilometer.live.admission import Admission
from nilometer.live.asked_folders import clear_asked_folders
from nilometer.live.live_query import LiveQuery
from nilometer.live.owner.changes import Changes
from nilometer.live.owner.lender import Lender
from nilometer.live.owner.lock import Holder, OwnerLock, holder_of
from nilometer.live.pipelines.run_folders import clear_run_folders
from nilometer.live.starts import BEGINNING, NOW, Start
from nilometer.log.writer import BusyError
from nilometer.plan import physical
from nilometer.workers.meanwhile import meanwhile

if TYPE_CHECKING:
    from nilometer.live.declarations import CompiledQuery
    from nilometer.live.owner.server import Server
    from nilometer.live.station import Station

T = TypeVar("T")

CLIENT_ROWS = 100_000
"""How many rows of a client's query wait in the owner. The query is not fed beyond that."""
CLIENT_BYTES = 64 << 20
PART_ROWS = 16_384
"""The most rows of one reply."""
SHOWN = 5_000
"""The most queries that `top` is told of: those that have computed longest."""
GIVING_WAY = 15.0
"""Seconds that `serve` waits for a command that has embedded an owner."""


_LOOPS = threading.local()


def in_loop() -> bool:
    """Whether this thread is an owner's loop that carries out a request: it must not wait for itself."""
    return bool(getattr(_LOOPS, "running", False))


class OwnerGoneError(ResourceError):
    """The owner ends, or has ended. A client looks for the next one."""


@dataclass
class ClientQuery:
    """A client's query. `ready` is set when there is something to fetch."""

    live: LiveQuery
    ready: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Fetched:
    """Rows of an answer, and how the query does."""

    rows: pl.DataFrame | None
    over: bool
    facts: dict[str, Any]


class Owner:
    """Takes the directory's lock, then makes the station. `embedded`: it gives way when `serve` asks."""

    def __init__(
        self,
        directory: Path,
        make_station: Callable[[], Station],
        *,
        embedded: bool = False,
        serving: bool = True,
    ) -> None:
        self.lock = take_lock(directory, embedded=embedded)
        clear_asked_folders(directory / ".nilometer")
        clear_run_folders(directory)
        self.giving_way = threading.Event()
        self.asked: dict[str, ClientQuery] = {}
        self.changes: Changes | None = None
        self.lender = Lender(directory)
        self.watchers: list[Callable[[], None]] = []
        """Called in the loop after every turn; must not wait."""
        self._queue: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._closed = False
        self._server: Server | None = None
        try:
            self.station = make_station()
            self.admission = Admission(self.station.database, directory)
            self._activities = Activities(self.station)
            if serving:
                from nilometer.live.owner.server import Server

                self._server = Server(directory, self)
        except BaseException:
            self.lock.release()
            raise

    # ---- for the threads of the clients ------------------------------------------------------------------------------

    def submit(self, call: Callable[[], T]) -> T:
        """Let the loop make the call, and return its result or raise its error."""
        future: Future[T] = Future()
        self._queue.append((call, future))
        if self._closed:
            self._refuse()
        self.station.manager.bell.set()
        return future.result()

    def install(
        self,
        text: str,
        parameters: Mapping[str, Any],
        *,
        profile: str = "default",
        start: Start = NOW,
        skip: int = 0,
        on: str = "gateway",
        force: bool = False,
    ) -> ClientQuery:
        """Run a client's query. `skip` rows of its answer are not sent: the client has them already. `force`: whatever
        the limits say."""

        def call() -> ClientQuery:
            query = self.station.database.sql(text, **parameters).with_profile(profile)
            self.admit(query, force=force)
            live = self.station.install(query, start=start, on=on)
            live.skip, live.bound = skip, (CLIENT_ROWS, CLIENT_BYTES)
            self.asked[live.name] = asked = ClientQuery(live)
            return asked

        return self.submit(call)

    def fetch(self, asked: ClientQuery, seconds: float, most: int = PART_ROWS) -> Fetched:
        """The next rows of a client's query; waits for them at most that long."""
        until = time.monotonic() + seconds
        while True:
            asked.ready.clear()
            part = self.submit(lambda: self._part(asked, most))
            left = until - time.monotonic()
            if part.rows is not None or part.over or left <= 0:
                return part
            asked.ready.wait(left)

    def remove(self, asked: ClientQuery) -> None:
        """Stop a client's query."""

        def call() -> None:
            name = asked.live.name
            # A stream that was replaced has ended its readers already.
            if self.asked.pop(name, None) is not None and self.station.queries.get(name) is asked.live:
                self.station.remove(name)

        # When the owner ends, its queries end with it.
        with contextlib.suppress(OwnerGoneError):
            self.submit(call)

    def change(self, do: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a declaration, or say what is declared."""

        def call() -> dict[str, Any]:
            if self.changes is None:
                self.changes = Changes(self.station.database, self.station.directory)
                self.changes.begin()
            return self.changes.request(do, fields)

        return self.submit(call)

    def back_up(self, target: Path) -> dict[str, Any]:
        """Copy the directory; the loop stands still for the last, short part of it."""
        from nilometer.live.backup import back_up

        def still(call: Callable[[], None]) -> None:
            def without_spark() -> None:
                on_spark = [
                    name for name in self.station.queries if self.station.reports.host(name) == "spark"
                ]
                if on_spark:
                    raise ConfigurationError(
                        f"'{on_spark[0]}' runs on Spark, which does not stand still for a backup",
                        hint="pause it, back up, and resume it: nilometer queries pause NAME",
                    )
                call()

            self.submit(without_spark)

        return back_up(self.station.directory, target, still)

    # ---- in the loop -------------------------------------------------------------------------------------------------

    def admit(self, query: CompiledQuery, *, force: bool) -> None:
        """Refuse a query that asks for more than nilometer.toml allows."""
        self.admission.check("the query", lambda: query, len(self.station.queries), force=force)

    def top(self) -> dict[str, Any]:
        """What everybody does now."""
        station = self.station
        queries = sorted(self._activities.now(), key=lambda one: -one.seconds)
        return {
            "when": station.clock(),
            "owner": asdict(self.lock.holder),
            "clients": 0 if self._server is None else self._server.clients,
            "streams": [
                {"stream": status.stream, "rate": status.rate, "late": status.late, "backlog": status.backlog}
                for status in map(
                    station.manager.status, shown(station.database.catalog, station.manager.streams)
                )
            ],
            "queries": [activity.as_dict() for activity in queries[:SHOWN]],
            "left_out": max(0, len(queries) - SHOWN),
        }

    def peers(self) -> dict[str, Any]:
        """The ring, as this gateway knows it."""
        if self.station.peering is None:
            raise ConfigurationError(
                "this gateway has no peers", hint="run serve with --peer HOST:PORT and --key-file FILE"
            )
        return self.station.peering.status()

    def attend(self) -> None:
        """Carry out what the clients have asked, and wake those whose rows have come."""
        while self._queue:
            call, future = self._queue.popleft()
            _LOOPS.running = True
            try:
                future.set_result(call())
            except Caught as error:
                future.set_exception(error)
            finally:
                _LOOPS.running = False
        for asked in self.asked.values():
            if asked.live.waiting or asked.live.finished:
                asked.ready.set()
        for watcher in self.watchers:
            watcher()

    def run(self, until: Callable[[], bool]) -> None:
        """Run the loop until `until` returns true, whether or not queries run, or until `serve` takes over. While it waits
        for a function of a user's, readings are taken and acknowledged."""
        with meanwhile(self.station.manager.poll):
            while not until() and not self.giving_way.is_set():
                self.attend()
                self.station.advance()

    def _part(self, asked: ClientQuery, most: int) -> Fetched:
        live = asked.live
        rows = live.part(most)
        over = live.finished and not live.waiting
        if over and live.failure is not None:
            if rows is None:
                raise live.failure
            over = False  # the next request meets the error
        facts = {
            "rows": live.rows,
            "dropped": live.dropped,
            "trimmed": live.trimmed,
            "watermark": live.watermark,
            "ledger": live.ledger.as_dict(),
            "trouble": [*filter(None, (live.stale,)), *self._troubles(live)],
        }
        return Fetched(rows, over, facts)

    def _troubles(self, live: LiveQuery) -> list[str]:
        manager = self.station.manager
        found = [
            (stream.name, manager.state(stream.name))
            for stream in physical.streams_of(live.query.physical).values()
        ]
        return [f"{name}: {trouble}" for name, (_, trouble) in found if trouble is not None]

    # ---- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Send the clients away, then commit and release everything."""
        self._leave()
        try:
            self.station.close()
        finally:
            self.lock.release()

    def abandon(self) -> None:
        """Release everything without a commit, as if the process had died."""
        self._leave()
        self.station.abandon()
        self.lock.release()

    def _leave(self) -> None:
        self._closed = True
        self._refuse()
        if self._server is not None:
            self._server.close()
        for asked in self.asked.values():
            asked.ready.set()
        self._refuse()

    def _refuse(self) -> None:
        while self._queue:
            try:
                _, future = self._queue.popleft()
            except IndexError:
                return
            future.set_exception(OwnerGoneError("the owner of the directory has ended"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def take_lock(directory: Path, *, embedded: bool) -> OwnerLock:
    """Become the owner. A command that has only embedded an owner gives way to one that is there to stay. Others may be
    quicker to take its place: each of them is asked in its turn."""
    asked: set[Holder] = set()
    until = time.monotonic() + GIVING_WAY
    while True:
        try:
            return OwnerLock(directory, embedded=embedded)
        except BusyError:
            holder = holder_of(directory)
            if embedded or (holder is not None and not holder.embedded):
                raise
            if holder is not None and holder not in asked:
                asked.add(holder)
                until = time.monotonic() + GIVING_WAY
                _ask_to_give_way(directory)
            elif time.monotonic() > until:
                raise


def _ask_to_give_way(directory: Path) -> None:
    from nilometer.live.owner.client import find_owner

    with contextlib.suppress(NilometerError):
        found = find_owner(directory)
        if found is not None:
            with found as client:
                client.request("give_way")


def offsets_text(start: Any) -> Start:
    """A start that came over the wire: `now`, `beginning`, microseconds, or an offset for each stream."""
    from nilometer.log import Offset

    if isinstance(start, dict):
        return {str(key): Offset(int(number), int(at)) for key, (number, at) in start.items()}
    if start == NOW:
        return NOW
    if start == BEGINNING:
        return BEGINNING
    if isinstance(start, int):
        return start
    raise ConfigurationError(f"a query cannot start at {start!r}")
