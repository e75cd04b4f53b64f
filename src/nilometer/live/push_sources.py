"""The sources of streams without an address, kept open for readings that are pushed, whether or not queries read them."""

from __future__ import annotations

from nilometer.catalog import Stream
from nilometer.ingest.manager import StreamManager


class PushSources:
    """The streams whose sources are kept open."""

    def __init__(self, manager: StreamManager) -> None:
        self._manager = manager
        self._readers: set[str] = set()

    def attend(self, stream: Stream) -> None:
        """Keep the source of a stream open."""
        reader = _reader(stream.name)
        if reader not in self._readers:
            self._readers.add(reader)
            self._manager.attend(reader, [stream])

    def forget(self, name: str) -> None:
        """The stream changes or goes: it is opened again, as it is declared then, by the next readings."""
        reader = _reader(name)
        self._readers.discard(reader)
        self._manager.forget(reader)


def _reader(stream: str) -> str:
    """The reader that keeps a source open; no query has a name with a blank."""
    return f"pushes to {stream.lower()}"
