"""The standing queries of a station. It carries out requests of any process (control.py): removes a paused
query, installs a resumed one again.

The laws: a query's offsets are in its result log, so pausing it means stopping it, and resuming it means
going on from there. An error in one query is reported, shown in its metrics, and affects no other query.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from nilometer.errors import NilometerError
from nilometer.live.control import changed_at, control_of
from nilometer.live.live_query import LiveQuery
from nilometer.live.query_metrics import QueryMetrics, write_metrics
from nilometer.live.starts import BEGINNING, NOW, Start
from nilometer.live.versions import version_of
from nilometer.log.writer import BusyError

if TYPE_CHECKING:
    from nilometer.catalog import QueryDefinition
    from nilometer.live.station import Station

LOOK_EVERY = 1.0
"""Seconds between two looks for new requests."""
METRICS_EVERY = 2.0
"""Seconds between two writes of the queries' metrics."""


class Roster:
    """`queries` are those that run or have run, the latest of each name; `refused` are those that could not
    be installed. `say` receives a line for the user whenever a query begins, goes on, pauses or is refused.
    """

    def __init__(
        self,
        station: Station,
        definitions: Sequence[QueryDefinition],
        *,
        on: str = "gateway",
        say: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.queries: list[LiveQuery] = []
        self.refused: dict[str, NilometerError] = {}
        self.paused: set[str] = set()
        self._station = station
        self._definitions = tuple(definitions)
        self._on = on
        self._say = say
        self._clock = clock
        self._changed: dict[str, int] = {}
        self._looked = self._shown = clock()

    def close(self) -> None:
        """Show how the queries did, and remove them: they commit what they have answered."""
        self.show()
        self._station.remove_together()
        for name in self._running:
            self._station.remove(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> None:
        """Install all queries that are not paused. If there is only one, the error that keeps it from running
        is raised.
        """
        with self._station.together():
            for definition in self._definitions:
                self._keep(definition)
        if len(self._definitions) == 1 and self.refused:
            raise next(iter(self.refused.values()))
        for name, error in self.refused.items():
            self._say(f"{name} cannot run: {error}")

    def look(self) -> None:
        """Carry out new requests, and write metrics; cheap if called often."""
        now = self._clock()
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            for definition in self._definitions:
                refused = self.refused.get(definition.name)
                self._keep(definition)
                error = self.refused.get(definition.name)
                if error is not None and error is not refused:
                    self._say(f"{definition.name} cannot run: {error}")
        if now - self._shown >= METRICS_EVERY:
            self._shown = now
            self.show()

    def show(self) -> None:
        """Write the queries' metrics for other processes."""
        for name in self._running:
            write_metrics(self._station.directory, name, self._station.metrics(name))

    @property
    def _running(self) -> list[str]:
        return [one.name for one in self._definitions if one.name in self._station.queries]

    def _keep(self, definition: QueryDefinition) -> None:
        name, directory = definition.name, self._station.directory
        changed = changed_at(directory, name)
        if self._changed.get(name) == changed:
            return
        self._changed[name] = changed
        if not changed and name in self.paused:
            self._say(f"{name} is dropped; to begin it anew: nilometer queries resume {name}")
            return
        try:
            paused = control_of(directory, name).paused
        except NilometerError as error:
            self.refused[name] = error
            return
        if paused and name not in self.paused:
            self.paused.add(name)
            self._pause(name)
        elif not paused and name not in self._station.queries:
            self.paused.discard(name)
            self._install(definition)

    def _pause(self, name: str) -> None:
        if name in self._station.queries:
            # Before the query is removed: its later progress is in its result log.
            write_metrics(self._station.directory, name, self._station.metrics(name))
            self._station.remove(name)
        self._say(f"{name} is paused; it goes on where it stands after: nilometer queries resume {name}")

    def _install(self, definition: QueryDefinition) -> None:
        name, station = definition.name, self._station
        start: Start = BEGINNING if isinstance(definition.starting, str) else definition.starting or NOW
        self.refused.pop(name, None)
        try:
            query = station.database.sql(definition.text)
            live = station.install(query, name, start=start, durable=True, on=self._on)
        except NilometerError as error:
            self.refused[name] = error
            if not isinstance(error, BusyError):
                version = version_of(station.database.sql(definition.text)).name
                failed = QueryMetrics(station.clock(), self._on, version, failed=True, trouble=error.message)
                write_metrics(station.directory, name, failed)
            return
        before = next((at for at, one in enumerate(self.queries) if one.name == name), None)
        if before is None:
            self.queries.append(live)
        else:
            self.queries[before] = live
        write_metrics(station.directory, name, station.metrics(name))
        self._say(live.note or f"{name} begins")
