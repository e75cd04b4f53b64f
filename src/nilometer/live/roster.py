"""The standing queries of a station. It carries out requests of any process (control.py): removes a paused
query, installs a resumed one again.

The laws: a query's offsets are in its result log, so pausing it means stopping it, and resuming it means
going on from there. An error in one query is reported, shown in its metrics, and affects no other query.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Self, cast

from nilometer.errors import NilometerError
from nilometer.live.control import changed_at, control_of
from nilometer.live.live_query import LiveQuery
from nilometer.live.query_metrics import QueryMetrics, write_all_metrics, write_metrics
from nilometer.live.replaced_state import Choice, versions_of_same_state
from nilometer.live.starts import BEGINNING, NOW, Start
from nilometer.live.versions import version_of
from nilometer.log import Offset
from nilometer.log.writer import BusyError

if TYPE_CHECKING:
    from nilometer.catalog import QueryDefinition
    from nilometer.live.alerts.alerting import Alerting
    from nilometer.live.declarations import CompiledQuery
    from nilometer.live.station import Station

LOOK_EVERY = 1.0
"""Seconds between two looks for new requests."""
METRICS_EVERY = 2.0
"""Seconds between two writes of the queries' metrics."""
SPARE = 20
"""Both are done less often if they take more than one part in this many of the time: with thousands of queries."""


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
        self.station = station
        self._definitions = {definition.name: definition for definition in definitions}
        self.starts: dict[str, Start] = {}
        """Where in its streams' logs a query without answers begins, by its lower-case name (control_log.py)."""
        self.old_texts: dict[str, list[str]] = {}
        """The statements that queries have had since they last ran, by lower-case name. One of them has run."""
        self.compiled: dict[str, CompiledQuery] = {}
        """Queries that were planned a moment ago, by lower-case name: none of thousands is planned twice."""
        self.choices: dict[str, Choice] = {}
        """Where the states of these queries come from, as REPLACE QUERY has said, by lower-case name."""
        self.alerting: Alerting | None = None
        """Runs the alerts among the queries, if anybody does."""
        self._on = on
        self._say = say
        self._clock = clock
        self._changed: dict[str, tuple[int, int]] = {}
        self._looked = self._shown = clock()
        self._look_after, self._show_after = LOOK_EVERY, METRICS_EVERY
        self._unshown = False
        """Whether a query has begun since the metrics were last written."""

    def close(self) -> None:
        """Show how the queries did, and remove them: they commit what they have answered."""
        self.show()
        self.station.remove_together()
        for name in self._running:
            self.station.remove(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, *, alone: bool = True) -> None:
        """Install all queries that are not paused. If there is only one, and nothing else to do (`alone`), the
        error that keeps it from running is raised.
        """
        with self.station.together():
            for definition in list(self._definitions.values()):
                self._keep(definition)
        self.compiled.clear()
        self.show()
        if alone and len(self._definitions) == 1 and self.refused:
            raise next(iter(self.refused.values()))
        for name, error in self.refused.items():
            self._say(f"{name} cannot run: {error}")

    # ---- changes while it runs (owner/changes.py) --------------------------------------------------------------------

    def add(self, definition: QueryDefinition, start: Start) -> str:
        """Install a query that was just declared, at that place of the logs. Returns what was done."""
        self._definitions[definition.name] = definition
        self.starts[definition.name.lower()] = start
        return self._installed(definition)

    def stop(self, name: str) -> dict[str, Offset] | None:
        """Stop a query that is about to change. Returns where it stands in its streams' logs; None: it does not run."""
        found = self._called(name)
        return self.station.remove(found) if found in self.station.queries else None

    def replace(self, definition: QueryDefinition, old_text: str | None, state: str | None) -> str:
        """Let a query go on with another text. Returns what was done."""
        name = self._called(definition.name)
        if name in self.station.queries:
            self.station.remove(name)
        self._definitions.pop(name, None)
        self._definitions[definition.name] = definition
        if old_text is not None:
            self.old_texts.setdefault(definition.name.lower(), []).append(old_text)
        self.choices.pop(definition.name.lower(), None)
        if state:
            self.choices[definition.name.lower()] = cast(Choice, state)
        return self._installed(definition)

    def _called(self, name: str) -> str:
        """The name under which a query runs, in whatever case it is asked for."""
        return next((one for one in self._definitions if one.lower() == name.lower()), name)

    def leave(self, names: Iterable[str]) -> None:
        """Stop these queries for a moment; `replace` lets each go on."""
        wanted = {name.lower() for name in names}
        for name in [one for one in self.station.queries if one.lower() in wanted]:
            self.station.remove(name)

    def drop(self, name: str) -> None:
        """Stop a query that is no longer declared."""
        if self.alerting is not None:
            self.alerting.forget(name)
        found = next((one for one in self._definitions if one.lower() == name.lower()), None)
        if found is not None:
            if found in self.station.queries:
                self.station.remove(found)
            del self._definitions[found]
            self._changed.pop(found, None)
            self.paused.discard(found)
            self.refused.pop(found, None)
            self.queries[:] = [live for live in self.queries if live.name != found]

    def look_now(self) -> None:
        """Carry out new requests at once."""
        for definition in list(self._definitions.values()):
            self._keep(definition)

    def _installed(self, definition: QueryDefinition) -> str:
        name = definition.name
        self._changed.pop(name, None)
        self._keep(definition)
        if name in self.refused:
            return f"{name} cannot run: {self.refused[name]}"
        live = self.station.queries.get(name)
        return f"{name} is paused" if live is None else live.note or f"{name} begins"

    def look(self) -> None:
        """Carry out new requests, and write metrics; cheap if called often."""
        now = self._clock()
        if now - self._looked >= self._look_after:
            self._looked = now
            for definition in list(self._definitions.values()):
                refused = self.refused.get(definition.name)
                self._keep(definition)
                error = self.refused.get(definition.name)
                if error is not None and error is not refused:
                    self._say(f"{definition.name} cannot run: {error}")
            self._look_after = max(LOOK_EVERY, SPARE * (self._clock() - now))
        now = self._clock()
        if self._unshown or now - self._shown >= self._show_after:
            self._shown = now
            self.show()
            self._show_after = max(METRICS_EVERY, SPARE * (self._clock() - now))

    def show(self) -> None:
        """Write the queries' metrics for other processes."""
        self._unshown = False
        write_all_metrics(
            self.station.directory, {name: self.station.reports.metrics(name) for name in self._running}
        )

    @property
    def _running(self) -> list[str]:
        return [name for name in self._definitions if name in self.station.queries]

    def _keep(self, definition: QueryDefinition) -> None:
        name, directory = definition.name, self.station.directory
        changed = changed_at(directory, name)
        if self._changed.get(name) == changed:
            return
        self._changed[name] = changed
        if not any(changed) and name in self.paused:
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
        elif not paused and name not in self.station.queries:
            self.paused.discard(name)
            self._install(definition)

    def _pause(self, name: str) -> None:
        if name in self.station.queries:
            # Before the query is removed: its later progress is in its result log.
            write_metrics(self.station.directory, name, self.station.reports.metrics(name))
            self.station.remove(name)
        self._say(f"{name} is paused; it goes on where it stands after: nilometer queries resume {name}")

    def _install(self, definition: QueryDefinition) -> None:
        name, station = definition.name, self.station
        declared: Start = BEGINNING if isinstance(definition.starting, str) else definition.starting or NOW
        start = self.starts.get(name.lower(), declared)
        old = self.old_texts.pop(name.lower(), ())
        choice = self.choices.pop(name.lower(), None)
        self.refused.pop(name, None)
        try:
            query = self.compiled.pop(name.lower(), None)
            if query is None or query.text != definition.text or old:
                query = station.database.sql(definition.text)
            same = versions_of_same_state(station.database, old, query)
            live = station.install(
                query,
                name,
                start=start,
                durable=True,
                on=self._on,
                state=choice,
                same_state=same,
                stops=definition.stops,
                pipeline=definition.pipeline,
            )
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
        self._unshown = True
        self._say(live.note or f"{name} begins")
