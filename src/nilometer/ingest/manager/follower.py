"""Reads a log that another process writes, and passes its new entries to the queries."""

from __future__ import annotations

from nilometer.ingest.manager.distributor import Distributor
from nilometer.ingest.manager.handed import handed
from nilometer.log import Offset, StreamLog
from nilometer.log.reader import Cursor


class Follower:
    """Reads the log from `begin` on. `ask_at`: when to try again to become the log's writer."""

    def __init__(self, stream: str, log: StreamLog, begin: Offset, distributor: Distributor) -> None:
        self.ask_at: int | None = None
        self._stream = stream
        self._cursor = Cursor(log.files, begin, log.columns or None)
        self._distributor = distributor

    def follow(self) -> None:
        """Pass on the new entries. All readable entries count as durable: the writer is to flush them."""
        for entry in self._cursor:
            self._distributor.put(self._stream, handed(entry))
            self._distributor.durable(self._stream, entry.after)

    def asks(self, now: int, interval: int) -> bool:
        """Whether it is time to try to become the writer; if so, the next try is an interval later."""
        if self.ask_at is not None and now < self.ask_at:
            return False
        self.ask_at = now + interval
        return True
