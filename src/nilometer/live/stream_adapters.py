"""The adapters of a station's streams: each stream's source, by its kind, its attached file or its address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.catalog import Stream
from nilometer.catalog.answer_streams import audited, is_answers
from nilometer.catalog.peer_streams import is_of_peers
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import Adapter, Clock, adapter_for
from nilometer.live.answers_adapter import AnswersAdapter
from nilometer.live.declarations import Declarations
from nilometer.live.identity import identity_of
from nilometer.live.outside import Outside
from nilometer.live.verdicts import FILE as VERDICTS
from nilometer.live.verdicts import VerdictsAdapter, folder_of_decision

if TYPE_CHECKING:
    from nilometer.live.peers.peering import Peering


class StreamAdapters:
    """Makes the adapters, and remembers the last one of each stream. A simulation makes its own (`outside`)."""

    def __init__(self, database: Declarations, directory: Path, outside: Outside) -> None:
        self.peering: Peering | None = None
        """The other gateways, whose streams come from them."""
        self._database = database
        self._directory = directory
        self._outside = outside
        self._adapter_of = outside.adapter_of or self._by_address
        self._adapters: dict[str, Adapter] = {}

    def make(self, stream: Stream, clock: Clock) -> Adapter:
        """A new adapter for a stream."""
        adapter = self._adapters[stream.name.lower()] = self._adapter_of(stream, clock)
        return adapter

    def of(self, stream: str) -> Adapter:
        """The last adapter that was made for a stream."""
        return self._adapters[stream.lower()]

    def _by_address(self, stream: Stream, clock: Clock) -> Adapter:
        """The adapter of the file attached to the stream, or else of the stream's own address."""
        decision = audited(stream)
        if decision is not None:
            return VerdictsAdapter(stream, clock, folder_of_decision(self._directory, decision) / VERDICTS)
        if is_answers(stream):
            return AnswersAdapter(stream, clock, self._directory)
        if is_of_peers(stream):
            if self.peering is None:
                raise ConfigurationError(
                    f"'{stream.name}' is a stream of another gateway", hint="run serve with --peer and --join"
                )
            return self.peering.adapter(stream, clock)
        files = self._database.data.files.get(stream.name.lower())
        url = None if files is None else f"file://{files.source.resolve()}"
        if url is None and stream.url is None and self._outside.pushes is not None:
            return self._outside.pushes.adapter(stream, clock)
        identity = identity_of(self._directory)
        return adapter_for(stream, clock, url=url, generators=self._outside.generators, identity=identity)
