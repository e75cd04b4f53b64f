"""The rows of a live query, for Python. The directory's owner runs the query; where there is none, this process is
the owner as long as rows are fetched. When the owner ends, the query goes on with the next one, at the same row."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nilometer.engine.hosts import host_name

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.ingest.adapters.generate import Generators
    from nilometer.live.station import Station


def live_rows(
    query: Query, *, seconds: float | None, start: str, generators: Generators | None, on: str
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

    ends = None if seconds is None else time.monotonic() + seconds
    directory, host = query.database.data.base, host_name(on)

    def over() -> bool:
        return ends is not None and time.monotonic() >= ends

    def station() -> Station:
        return Station(query.database, directory, outside=Outside(generators=generators))

    if directory is None:
        with station() as own:
            live = own.install(query, start=start_of(start), on=host)
            yield from own.rows(live, over)
        return
    asking = Asking(print_statement(query.tree), query.parameters, query.profile, host, start_of(start))
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
        with owner:
            live = owner.station.install(query, start=asking.offsets, on=host)
            live.skip = asking.rows

            def stops(owner: Owner = owner) -> bool:
                owner.attend()
                return over() or owner.giving_way.is_set()

            yield from owner.station.rows(live, stops)
            asking.leave(live.began, live.rows)
            if not owner.giving_way.is_set():
                return
        await_owner(directory)
