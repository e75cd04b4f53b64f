"""STEAM's stream manager (section 5) with durable logs: reads sources, writes logs, and feeds queries.

    register, unregister   a query names its streams; the first query opens a source, the last closes it
    attend                 the same for a query that reads the logs by itself, as queries on Spark do
    poll                   one turn for every open source, in rotation: read and append; then make durable,
                           acknowledge and hand on
    wait                   sleep until a source has readings, or is due
    take                   a query's next entry: from the stream's ring of recent entries, or from the log
                           while the query is behind the ring

The laws: every acknowledged reading is durable, or counted as shed. A query gets every entry from its offset
on, in order and once. The books of a stream balance at any moment. A failure is reported in `status`,
retried, and touches no other stream. The manager runs in one thread, and only `wait` sleeps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self

import polars as pl

from nilometer.catalog.extents import Sensor, Stream
from nilometer.dataflow.sources import Entry
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.adapter import Clock, Command, ReadResult
from nilometer.ingest.manager.clocks import Clocks
from nilometer.ingest.manager.distributor import Distributor, FeedStart
from nilometer.ingest.manager.settings import ManagerSettings
from nilometer.ingest.manager.source import AdapterFor, Source
from nilometer.ingest.manager.states import SourceState
from nilometer.ingest.manager.status import StreamStatus
from nilometer.log import LogDirectory, Offset
from nilometer.types import SECOND

Listener = Callable[[str, ReadResult], None]
"""Called with a stream's lower-case name and the result, after each read that brought readings or
presences."""

Sleep = Callable[[threading.Event, float], object]
"""Waits for the event, at most the given number of seconds."""


class StreamManager:
    """`clock` is the wall clock, which may jump. `steady` is a monotonic clock (clocks.running), by default
    `clock` itself. `sensors_of` gives the declared sensors of a stream. Streams go by lower-case names."""

    def __init__(
        self,
        logs: LogDirectory,
        clock: Clock,
        adapter_for: AdapterFor,
        *,
        settings: ManagerSettings | None = None,
        steady: Clock | None = None,
        sensors_of: Callable[[Stream], Sequence[Sensor]] | None = None,
        sleep: Sleep = threading.Event.wait,
    ) -> None:
        self.settings = settings or ManagerSettings()
        self.listeners: list[Listener] = []
        self.clocks = Clocks(clock, steady)
        self.bell = threading.Event()
        self._logs = logs
        self._adapter_for = adapter_for
        self._sensors_of = sensors_of
        self._sleep = sleep
        self._distributor = Distributor(self.settings.buffer_bytes)
        self._sources: dict[str, Source] = {}
        self._closing: dict[str, Source] = {}
        self._queries: dict[str, tuple[str, ...]] = {}
        self._attending: set[str] = set()
        self._first = 0

    # ---- queries ---------------------------------------------------------------------------------------------------------

    def register(
        self, query: str, streams: Iterable[Stream], start: Mapping[str, Offset] | None = None
    ) -> None:
        """Pass the entries of these streams to the query, from the offsets in `start` on (by lower-case
        name), or from now on."""
        if query in self._queries:
            raise ConfigurationError(f"query '{query}' is registered already", hint="give it another name")
        begin = start or {}
        wanted = {stream.name.lower(): stream for stream in streams}
        opened = self._prepare(wanted)
        recorders = {name: self._sources[name].recorder for name in wanted}
        self._distributor.subscribe(
            query,
            [
                FeedStart(name, recorders[name].log, recorders[name].durable, begin.get(name))
                for name in wanted
            ],
        )
        self._queries[query] = tuple(wanted)
        # The sources open after the query has its place, so that it gets what another process appends
        # meanwhile.
        for name, source in opened.items():
            source.begin = self._distributor.end(name)
            source.open()

    def attend(self, query: str, streams: Iterable[Stream]) -> None:
        """Keep the sources of these streams open for a query that reads the logs by itself."""
        if query in self._queries:
            raise ConfigurationError(f"query '{query}' is registered already", hint="give it another name")
        wanted = {stream.name.lower(): stream for stream in streams}
        opened = self._prepare(wanted)
        self._queries[query] = tuple(wanted)
        self._attending.add(query)
        for source in opened.values():
            source.begin = source.recorder.log.end
            source.open()

    def _prepare(self, wanted: Mapping[str, Stream]) -> dict[str, Source]:
        """Make ready the sources of these streams that are not open yet, and return them."""
        opened: dict[str, Source] = {}
        for name, stream in wanted.items():
            if name not in self._sources:
                closing = self._closing.get(name)
                kept = closing is not None and closing.stream == stream
                opened[name] = source = closing if closing is not None and kept else self._new(stream)
                source.prepare()
        self._sources |= opened
        for name in opened:
            self._closing.pop(name, None)
        return opened

    def unregister(self, query: str) -> None:
        """Remove a query, and close the sources that no other query needs."""
        if query in self._attending:
            self._attending.remove(query)
        else:
            self._distributor.unsubscribe(query)
        for name in self._queries.pop(query):
            if not self._readers(name):
                source = self._sources.pop(name)
                if not source.close():
                    self._closing[name] = source

    def forget(self, query: str) -> None:
        """Remove a query if it is registered."""
        if query in self._queries:
            self.unregister(query)

    def take(self, query: str) -> tuple[str, Entry] | None:
        """The query's next entry and the lower-case name of its stream; None if there is none now."""
        return self._distributor.take(query)

    def offsets(self, query: str) -> dict[str, Offset]:
        """The query's offsets. Registered again with them as `start`, it goes on after its last entry."""
        return self._distributor.offsets(query)

    def skipped(self, query: str) -> int:
        """The rows of its streams that were deleted from the logs before the query had read them."""
        return self._distributor.skipped(query)

    # ---- the loop --------------------------------------------------------------------------------------------------------

    def poll(self, only: Collection[str] | None = None) -> bool:
        """Give every source a turn, or only those of these streams. Returns whether anything was read or made
        durable: then another poll may be worthwhile at once."""
        if self.clocks.look():
            for source in self._sources.values():
                source.clock_jumped()
        brought = False
        names = [name for name in self._sources if only is None or name in only]
        self._first = (self._first + 1) % max(1, len(names))
        for name in names[self._first :] + names[: self._first]:
            source = self._sources[name]
            result = source.read()
            if result is not None and (result.received or result.presences):
                brought = True
                for listener in self.listeners:
                    listener(name, result)
            source.write()
        for name in names:
            brought |= self._sources[name].settle()
        for name, source in list(self._closing.items()):
            if source.finish():
                del self._closing[name]
        return brought

    def wait(self, until: int | None = None) -> None:
        """Sleep until a source has readings or is due, or until the clock shows `until`. The sleep may end
        early, never much later."""
        self.bell.clear()
        now = self.clocks.smooth()
        moments = [now + self.settings.longest_wait]
        if until is not None:
            moments.append(now + until - self.clocks.clock())
        for source in (*self._sources.values(), *self._closing.values()):
            due = source.due
            if due is not None:
                moments.append(due)
        seconds = (min(moments) - now) / SECOND
        if seconds > 0:
            self._sleep(self.bell, seconds)

    # ---- messages to the streams -----------------------------------------------------------------------------------------

    def command(self, stream: str, sensor: int | str, command: Command) -> bool:
        """Send a command to a sensor. Returns False if it cannot be sent."""
        source = self._sources.get(stream.lower())
        return source is not None and source.command(sensor, command)

    def take_in(self, stream: str, result: ReadResult) -> Future[bool]:
        """Append readings that did not come from the stream's source; see `Source.take_in`."""
        source = self._sources.get(stream.lower())
        if source is None:
            raise ConfigurationError(
                f"the source of '{stream}' is closed, because no query reads it",
                hint="install a query that reads the stream, then submit again",
            )
        self.bell.set()
        return source.take_in(result)

    def heartbeat(self, stream: str, tick: int) -> None:
        """Queue a heartbeat: no reading earlier than `tick` will come. The next poll appends it to the log,
        behind the readings, and hands it to the queries."""
        source = self._sources.get(stream.lower())
        if source is not None:
            source.heartbeat(tick)

    def record_demand(self, stream: str, change: dict[str, Any]) -> None:
        """Queue a change of the demand on the stream's sensors. The next poll appends it to the log."""
        source = self._sources.get(stream.lower())
        if source is not None:
            source.demand(change)

    def expect(self, stream: str, interval: int | None, each: pl.DataFrame | None = None) -> None:
        """Expect a reading of each sensor per `interval` from now on, by demand (None: no readings); for the
        sensors in `each` (id, interval), per their own interval."""
        source = self._sources.get(stream.lower())
        if source is not None:
            source.expect(interval, each)

    # ---- status ----------------------------------------------------------------------------------------------------------

    @property
    def streams(self) -> list[str]:
        """The open streams."""
        return sorted(self._sources)

    def is_open(self, stream: str) -> bool:
        """Whether the stream's source is open, or still has readings to append."""
        return stream.lower() in self._sources or stream.lower() in self._closing

    def ended(self, stream: str) -> bool:
        """Whether the source has ended or failed (see `state`), and all its readings are handed on."""
        source = self._sources.get(stream.lower())
        return source is not None and source.ended

    def remarks(self, stream: str) -> list[str]:
        """The damage that a crash or the disk did to the log of a stream, found when it was opened."""
        source = self._sources.get(stream.lower())
        return [] if source is None else source.recorder.log.remarks

    def sessions_lost(self, name: str) -> int:
        """How often, since this process began, a server has lost what it kept for the stream."""
        source = self._sources.get(name.lower())
        return 0 if source is None else source.sessions_lost

    def state(self, stream: str) -> tuple[SourceState, str | None]:
        """The state of the stream's source, and why no readings come; cheaper than `status`."""
        source = self._sources.get(stream.lower())
        return (SourceState.CLOSED, None) if source is None else (source.state, source.trouble)

    def status(self, stream: str) -> StreamStatus:
        """The status of a stream that a query reads."""
        name = stream.lower()
        source = self._sources.get(name) or self._closing.get(name)
        if source is None:
            raise ConfigurationError(
                f"no query reads the stream '{stream}'", hint=f"open are: {', '.join(self.streams) or 'none'}"
            )
        return source.status(self._readers(name))

    # ---- the end ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Unregister all queries. Readings that cannot be appended are not acknowledged, so the source sends
        them again."""
        for query in list(self._queries):
            self.unregister(query)
        for source in self._closing.values():
            source.abandon()
        self._closing.clear()
        self._distributor.close()

    def abandon(self) -> None:
        """Release everything without writing, as if the process had died."""
        for source in (*self._sources.values(), *self._closing.values()):
            source.abandon()
        self._sources.clear()
        self._closing.clear()
        self._queries.clear()
        self._attending.clear()
        self._distributor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _readers(self, name: str) -> tuple[str, ...]:
        return tuple(query for query, names in self._queries.items() if name in names)

    def _new(self, stream: Stream) -> Source:
        declared = () if self._sensors_of is None else tuple(s.id for s in self._sensors_of(stream))
        return Source(
            stream,
            self._logs.log(stream),
            self._adapter_for,
            self.clocks,
            self.settings,
            self._distributor,
            self.bell,
            declared,
        )
