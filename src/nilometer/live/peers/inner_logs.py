"""Deletes the logs of streams that peers made for questions which have ended.

The laws: a log stays while its source is open, and while a standing query, running or not, has read from it. Only the
station's loop looks, so no query begins meanwhile. A reader that has the files open reads on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from nilometer.catalog import Stream
from nilometer.catalog.peer_streams import is_inner
from nilometer.errors import DataError, ResourceError
from nilometer.live.shared_commits import READER
from nilometer.log.results.committed import CommittedOffsets
from nilometer.types import MINUTE

if TYPE_CHECKING:
    from nilometer.live.station import Station

NAME = re.compile(r"(overlay|selected)_[0-9a-f]{12}")
"""The names that peers give (streams.py)."""


class InnerLogs:
    """Looks for logs that nobody uses: those of this process's questions, and those that an earlier process left.
    `gone` is told the name of a stream whose log was deleted."""

    def __init__(self, station: Station, gone: Callable[[str], None]) -> None:
        self._station, self._gone = station, gone
        self._left = {name for name in station.logs.names() if NAME.fullmatch(name)}
        self._held: set[str] = set()
        """Those that a standing query needs, or that could not be deleted. They are looked at again each minute."""
        self._since = 0

    def look(self, now: int) -> None:
        """Delete what nobody uses."""
        station = self._station
        catalog, logs = station.database.catalog, station.logs
        if abs(now - self._since) >= MINUTE:
            self._since = now
            self._held.clear()
        inner = {stream.name.lower() for stream in catalog.streams() if is_inner(stream)}
        idle = {name for name in inner | self._left if not station.manager.is_open(name)} - self._held
        if not idle:
            return
        committed = CommittedOffsets(station.directory)
        for name in sorted(idle):
            extent = catalog.extent(name)
            if extent is not None and not (isinstance(extent, Stream) and is_inner(extent)):
                self._left.discard(name)  # somebody's own stream has such a name
                continue
            try:
                # The reader of all queries lets go at the next checkpoint only; what it holds, they have committed.
                readers = logs.log(name).readers().keys() - {READER}
                deleted = not committed(name) and not readers and logs.delete(name)
            except (DataError, ResourceError):
                deleted = False
            if not deleted:
                self._held.add(name)
                continue
            self._left.discard(name)
            if extent is not None:
                catalog.drop("STREAM", name)
            self._gone(name)
