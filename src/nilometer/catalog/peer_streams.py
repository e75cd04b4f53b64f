"""Streams that come from peers: those of another gateway, selections of them, and the results of joins among gateways
(live/peers)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from nilometer.catalog.extents import Stream
from nilometer.types import DAY

if TYPE_CHECKING:
    from nilometer.catalog.catalog import Catalog

REMOTE = "peer:"
RESULTS = "overlay:"
SELECTED = "selected:"
FUTURE = 1_000_000 * DAY
"""Readings are never refused for being ahead of our clock: their own gateway has let them in."""


def remote(stream: Stream, home: str) -> Stream:
    """A stream of another gateway, as it is declared here."""
    return replace(stream, url=f"{REMOTE}{home}", future=FUTURE)


def home_of(stream: Stream) -> str | None:
    """The address of the gateway that a stream comes from; None if it is our own."""
    url = stream.url
    return url.removeprefix(REMOTE) if url is not None and url.startswith(REMOTE) else None


def query_of(stream: Stream) -> str | None:
    """The query of the ring whose results a stream has; None if it has none."""
    url = stream.url
    return url.removeprefix(RESULTS) if url is not None and url.startswith(RESULTS) else None


def is_selected(stream: Stream) -> bool:
    """Whether a stream has only the rows of another gateway's stream that a query selects."""
    return stream.url is not None and stream.url.startswith(SELECTED)


def is_inner(stream: Stream) -> bool:
    """Whether peers made the stream for a query: nobody names it, and it is not shown."""
    return query_of(stream) is not None or is_selected(stream)


def shown(catalog: Catalog, names: Iterable[str]) -> list[str]:
    """The names without those of streams that peers made."""
    found = [(name, catalog.extent(name)) for name in names]
    return [name for name, extent in found if not (isinstance(extent, Stream) and is_inner(extent))]


def is_of_peers(stream: Stream) -> bool:
    """Whether a stream comes from peers."""
    return home_of(stream) is not None or is_inner(stream)
