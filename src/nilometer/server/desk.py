"""How routes reach the database: statements go to the owner's loop, plans and lists come from a client's own view.

The law: only the loop touches the station. A route asks it with `Owner.submit`, in a thread that may wait. Plans are
made in a database of the server's own, which follows the owner's declarations like any other client's; one thread at
a time uses it. A query over data at hand has a database for itself.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from nilometer.catalog import Stream
from nilometer.engine import Database, connect
from nilometer.engine.opening import open_again
from nilometer.errors import ConfigurationError
from nilometer.language import ast, parse
from nilometer.server.confinement import Confinement
from nilometer.server.gathering import Gathering
from nilometer.server.limits import Limits
from nilometer.server.problems import NotFoundError, TooLargeError, TooManyError
from nilometer.server.rates import Rates
from nilometer.server.receipts import Receipts
from nilometer.server.settings import AT_HAND, DURABLE_SECONDS, LIVE_QUERIES, TEXT_BYTES, HttpSettings
from nilometer.server.who import WHO

if TYPE_CHECKING:
    from nilometer.catalog import QueryDefinition
    from nilometer.ingest.adapters.push import Pushes
    from nilometer.live.alerts.alerting import Alerting
    from nilometer.live.owner.owner import Owner
    from nilometer.live.station import Station
    from nilometer.server.tails import Tails

T = TypeVar("T")

THREADS = 32
"""Threads that wait for the loop or read files."""


class Desk:
    """The things that the routes share."""

    def __init__(self, owner: Owner, settings: HttpSettings, pushes: Pushes, tails: Tails) -> None:
        self.owner = owner
        self.directory: Path = owner.station.directory
        self.settings = settings
        self.pushes = pushes
        self.tails = tails
        self.rates = Rates()
        self.limits = Limits()
        self.receipts = Receipts(DURABLE_SECONDS)
        self.gathering = Gathering()
        self.confinement = Confinement(self.directory, settings.roots, settings.hosts)
        self._own: Database | None = None
        self._turn = threading.Lock()
        self._threads: anyio.CapacityLimiter | None = None
        self._live: anyio.CapacityLimiter | None = None
        self._at_hand: anyio.CapacityLimiter | None = None

    # ---- threads -----------------------------------------------------------------------------------------------------

    async def wait_for(self, call: Callable[[], T]) -> T:
        """The result of a call that may wait."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(THREADS)
        return await anyio.to_thread.run_sync(call, limiter=self._threads)

    async def live(self, call: Callable[[], T]) -> T:
        """A call of a client's live query, which may wait for rows for a second."""
        if self._live is None:
            self._live = anyio.CapacityLimiter(LIVE_QUERIES)
        return await anyio.to_thread.run_sync(call, limiter=self._live, abandon_on_cancel=True)

    async def at_hand(self, call: Callable[[Database], T]) -> T:
        """A call that reads data at hand, with a database of its own. Only a few run at a time."""
        if self._at_hand is None:
            self._at_hand = anyio.CapacityLimiter(AT_HAND)
        try:
            self._at_hand.acquire_on_behalf_of_nowait(mark := object())
        except anyio.WouldBlock:
            raise TooManyError(
                f"{AT_HAND} queries over data at hand run already", hint="try again when they have ended"
            ) from None
        try:
            return await anyio.to_thread.run_sync(lambda: call(self._own_copy()))
        finally:
            self._at_hand.release_on_behalf_of(mark)

    # ---- the owner ---------------------------------------------------------------------------------------------------

    async def station(self, call: Callable[[Station], T]) -> T:
        """Let the loop make a short call."""
        return await self.wait_for(lambda: self.owner.submit(lambda: call(self.owner.station)))

    @property
    def alerting(self) -> Alerting | None:
        """The alerts at work."""
        changes = self.owner.changes
        return None if changes is None or changes.roster is None else changes.roster.alerting

    def execute(self, text: str) -> str:
        """Carry out a declaration or change, within what users of HTTP may name. Returns what was done."""
        if len(text.encode()) > TEXT_BYTES:
            raise TooLargeError(f"a statement has at most {TEXT_BYTES >> 10} KiB")
        statement = parse(text)
        if not isinstance(statement, ast.Statement):
            raise ConfigurationError(
                "this is a query, not a declaration", hint="ask it: POST /api/v1/query"
            ).at(text, statement.span)
        if isinstance(statement, ast.Show | ast.Explain):
            raise ConfigurationError(
                "this changes nothing", hint="GET /api/v1/streams lists, POST /api/v1/explain explains"
            ).at(text, statement.span)
        self.confinement.check(statement)
        return str(self.owner.change("execute", {"text": text, "by": WHO.get()})["told"])

    # ---- declarations ------------------------------------------------------------------------------------------------

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The server's own view of the declarations, for this thread alone."""
        with self._turn:
            if self._own is None:
                self._own = connect(self.directory)
            if self._changed(self._own):
                self._own.refresh()
            yield self._own

    def _changed(self, database: Database) -> bool:
        """Whether the owner may have declarations that the database lacks. The owner is in this process: its revision
        is looked at, instead of asked for by the socket, which costs a thread and a turn of the station's loop."""
        changes, keeping = self.owner.changes, database.keeping
        return changes is None or keeping is None or keeping.revision != changes.revision

    def _own_copy(self) -> Database:
        """A database for one call: with 20,000 sensors, to read the declarations again would take seconds."""
        with self.database() as database:
            return open_again(database)

    def with_database(self, call: Callable[[Database], T]) -> Awaitable[T]:
        """The result of a call with the declarations, made in a thread."""

        def run() -> T:
            with self.database() as database:
                return call(database)

        return self.wait_for(run)


def stream_of(database: Database, name: str) -> Stream:
    """A declared stream."""
    found = database.catalog.extent(name)
    if not isinstance(found, Stream) or database.catalog.query(name) is not None:
        known = ", ".join(stream.name for stream in database.catalog.streams()) or "none"
        raise NotFoundError(f"there is no stream '{name}'", hint=f"declared are: {known}")
    return found


def query_of(database: Database, name: str) -> QueryDefinition:
    """A declared standing query."""
    found = database.catalog.query(name)
    if found is None:
        known = ", ".join(query.name for query in database.catalog.queries()) or "none"
        raise NotFoundError(f"there is no standing query '{name}'", hint=f"declared are: {known}")
    return found


def page(items: list[dict[str, Any]], key: str, limit: int, after: str | None, path: str) -> dict[str, Any]:
    """A page of a list that is sorted by a name: those after `after`, and the address of the next page."""
    from urllib.parse import quote

    rest = [item for item in items if after is None or str(item[key]) > after]
    shown = sorted(rest, key=lambda item: str(item[key]))[:limit]
    more = len(rest) > len(shown)
    following = (
        f"{path}?limit={limit}&after={quote(str(shown[-1][key]), safe='')}" if more and shown else None
    )
    return {"items": shown, "total": len(items), "next": following}
