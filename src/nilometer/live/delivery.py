"""Delivers a standing query's answers to sinks, by the query's name: once, or continuously beside a running
query.

The law: at most one process at a time delivers a query's answers to one sink. A query may have any number of
sinks, and any host may write its result log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nilometer.live.answers import Answer
from nilometer.live.control import folder_of
from nilometer.live.identity import identity_of
from nilometer.live.kept_answers import directory_of
from nilometer.live.standing import result_files
from nilometer.log.files import Lock
from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import BusyError, resources
from nilometer.sinks.commits import Commits
from nilometer.sinks.delivery import POLL, Courier, Delivery, Progress
from nilometer.sinks.registry import sink_for
from nilometer.sinks.sink import GROUP_ROWS, Origin

if TYPE_CHECKING:
    from nilometer.live.declarations import Declarations

FAREWELL = 30.0
"""Seconds that sinks get at the end to take undelivered answers. The rest is delivered next time."""


@dataclass
class Route:
    """The way from one query to one sink."""

    query: str
    delivery: Delivery
    lock: Lock
    courier: Courier | None = field(default=None)

    @property
    def place(self) -> str:
        """The sink's name."""
        return self.delivery.sink.name

    @property
    def progress(self) -> Progress:
        """The progress of the delivery."""
        return self.delivery.progress

    def close(self) -> None:
        """Release the route, so that another process may deliver."""
        self.delivery.close()
        self.lock.release()


def route(database: Declarations, name: str, url: str) -> Route:
    """Open the way from a standing query to a sink; nothing is delivered yet."""
    directory = directory_of(database, name)
    sink = sink_for(url, Origin(name, identity_of(directory)))
    delivery = Delivery(lambda: result_files(directory, name), sink)
    return Route(name, delivery, _lock(directory, name, sink.name))


def deliver(database: Declarations, name: str, url: str) -> Progress:
    """Deliver the answers that the sink does not have yet. Raises the sink's errors."""
    way = route(database, name, url)
    try:
        way.delivery.step(all_of_it=True)
        if way.delivery.error is not None:
            raise way.delivery.error
        return way.progress
    finally:
        way.close()


class Deliveries:
    """Routes at work, each in a thread, until the end of the `with`. The end also delivers everything
    committed by then.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = list(routes)

    def __enter__(self) -> Self:
        for way in self.routes:
            way.courier = Courier(way.delivery)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for way in self.routes:
            if way.courier is not None:
                way.courier.stop()
        until = time.monotonic() + FAREWELL
        for way in self.routes:
            if way.courier is None or way.courier.join(max(0.0, until - time.monotonic())):
                way.lock.release()
            else:
                way.courier.give_up()


def open_routes(database: Declarations, wanted: Sequence[tuple[str, str]]) -> list[Route]:
    """Open all routes, or none if one of them cannot be opened."""
    routes: list[Route] = []
    try:
        for name, url in wanted:
            routes.append(route(database, name, url))
    except BaseException:
        for way in routes:
            way.close()
        raise
    return routes


def follow(
    database: Declarations, name: str, position: int = 0, *, wait: Callable[[], bool]
) -> Iterator[Answer]:
    """A standing query's answers from a position on, commit by commit, including later commits of other
    processes.

    Each answer has the columns that the query had then. `wait` is called when there is nothing new, and
    returns whether to go on.
    """
    directory = directory_of(database, name)
    commits = Commits(lambda: result_files(directory, name))
    commits.seek_row(position)
    while True:
        found = commits.read(GROUP_ROWS)
        for answered, _ in found:
            skipped = max(0, position - answered.position)
            if answered.rows.height > skipped:
                yield Answer(answered.schema, answered.rows[skipped:])
        if not found and not wait():
            return


def a_moment() -> bool:
    """Wait briefly before the next look."""
    time.sleep(POLL)
    return True


def _lock(directory: Path, name: str, sink: str) -> Lock:
    digest = blake2b(sink.encode(), digest_size=8).hexdigest()
    files = LocalFiles(folder_of(directory, name) / "sinks" / digest)
    try:
        with resources(files.place):
            return files.lock()
    except BlockingIOError as holder:
        raise BusyError(
            f"the answers of '{name}' are being delivered to {sink} by {holder}",
            hint="only one process at a time may deliver to a sink",
        ) from None
