"""The rows of a live query, for Python. The directory's owner runs the query; where there is none, this process is
the owner as long as the iterator is open. When the owner ends, the query goes on with the next one, at the same row."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nilometer.engine.hosts import host_name

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.ingest.adapters.generate import Generators as Fields
    from nilometer.live.owner.owner import Owner
    from nilometer.live.station import Station


def live_rows(
    query: Query,
    *,
    seconds: float | None,
    start: str,
    generators: Fields | None,
    on: str,
    force: bool = False,
) -> Iterator[dict[str, Any]]:
    """Rows as dictionaries, as they come."""
    from nilometer.language import print_statement
    from nilometer.live.answers import Answer
    from nilometer.live.outside import Outside
    from nilometer.live.owner.client import Asking, find_owner
    from nilometer.live.owner.lock import await_owner
    from nilometer.live.owner.owner import Owner, OwnerGoneError
    from nilometer.live.starts import start_of
    from nilometer.live.station import Station
    from nilometer.log.writer import BusyError
    from nilometer.simulated import Generators

    ends = None if seconds is None else time.monotonic() + seconds
    directory, host = query.database.data.base, host_name(on)

    def over() -> bool:
        return ends is not None and time.monotonic() >= ends

    def station() -> Station:
        query.database.take_over()
        own = Generators()
        outside = Outside(generators=own, program_for=own.program_for)
        if generators is not None:
            outside = Outside(generators=generators)
        return Station(query.database, directory, outside=outside)

    if directory is None:
        with station() as own:
            live = own.install(query, start=start_of(start), on=host)
            yield from own.rows(live, over)
        return
    asking = Asking(
        print_statement(query.tree), query.parameters, query.profile, host, start_of(start), force
    )
    while True:
        client = find_owner(directory)
        if client is not None:
            with client:
                try:
                    asking.install(client)
                    while True:
                        ending = over()
                        rows, ended = asking.fetch(client, 0.0 if ending else 0.5)
                        if rows is not None:
                            yield from Answer(query.schema, rows)
                        if ended or (ending and rows is None):
                            return
                except OwnerGoneError:
                    continue
        try:
            owner = Owner(directory, station, embedded=True)
        except BusyError:
            continue
        with in_background(owner), contextlib.suppress(OwnerGoneError):
            asked = owner.install(
                asking.text,
                query.parameters,
                profile=query.profile,
                start=asking.offsets,
                skip=asking.rows,
                on=host,
                force=force or bool(asking.rows),
            )
            dropped = 0
            while True:
                ending = over()
                part = owner.fetch(asked, 0.0 if ending else 0.5)
                asking.leave(asked.live.began, asking.rows + part.facts["dropped"] - dropped)
                dropped = part.facts["dropped"]
                if part.rows is not None:
                    asking.rows += part.rows.height
                    yield from Answer(query.schema, part.rows)
                if part.over or (ending and part.rows is None):
                    return
        await_owner(directory)


@contextmanager
def in_background(owner: Owner) -> Iterator[None]:
    """Run the owner's loop in a thread, until the end of the `with` or until `serve` takes over. So the owner answers
    its clients, of this process and of others, whether or not anybody fetches rows here."""
    stopped = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with owner:
                owner.run(stopped.is_set)
        except BaseException as error:
            failures.append(error)

    loop = threading.Thread(target=run, name="nilometer-owner", daemon=True)
    loop.start()
    try:
        yield
    finally:
        stopped.set()
        owner.station.manager.bell.set()
        loop.join()
    if failures:
        raise failures[0]
