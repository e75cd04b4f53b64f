"""The demo as a data directory with an owner, so that a dashboard can look at it and ask questions of its own.

The demo's questions are declared as standing queries, too, while the script asks them. The two read the same plan, so
they ask the same of the monitors.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from nilometer.catalog import Sensor
from nilometer.engine import Database, connect
from nilometer.ingest.adapters.push import Pushes
from nilometer.laboratory.demo.field import SCHEMA, Question
from nilometer.language.print_expressions import literal
from nilometer.live.outside import Outside
from nilometer.live.owner.changes import take_up
from nilometer.live.owner.owner import Owner
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings

Dashboard = Callable[[Owner, Pushes], AbstractContextManager[Any]]
"""Serves an owner while it is open."""


class Served:
    """The owner of the demo's directory, its standing queries, and what is served of it."""

    def __init__(self, database: Database, owner: Owner, roster: Roster) -> None:
        self.database = database
        self.owner = owner
        self._roster = roster
        self._declared: set[str] = set()
        self._running: set[str] = set()

    def ask(self, question: Question, *, wanted: bool) -> None:
        """Let a question run as a standing query, or pause it."""
        name = question.name
        if wanted == (name in self._running):
            return
        if wanted and name not in self._declared:
            text = f"CREATE QUERY {name} AS {question.sql}"
        else:
            text = f"{'RESUME' if wanted else 'PAUSE'} QUERY {name}"
        (self._running.add if wanted else self._running.discard)(name)
        self._declared.add(name)
        assert self.owner.changes is not None
        # A visitor may have dropped or changed it meanwhile.
        if name in {query.name for query in self.owner.station.database.catalog.queries()} or wanted:
            self.owner.changes.request("execute", {"text": text})

    def attend(self) -> None:
        """Answer what was asked meanwhile."""
        self.owner.attend()
        self._roster.look()

    def wait(self, seconds: float) -> None:
        """Answer while time passes."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.owner.station.manager.bell.wait(left)
            self.owner.station.manager.bell.clear()
            self.owner.attend()


@contextmanager
def served(
    sensors: list[Sensor],
    keep: Path | None,
    settings: StationSettings,
    outside: Callable[[Pushes], Outside],
    dashboard: Dashboard,
) -> Iterator[Served]:
    """Own the directory `keep`, or one that is deleted afterwards, and serve it."""
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nilometer-demo-")))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schema.sql").write_text("\n".join([SCHEMA, *map(_declared, sensors)]) + "\n")
        database, pushes = connect(folder), Pushes()
        owner = stack.enter_context(
            Owner(folder, lambda: Station(database, folder, settings, outside(pushes)))
        )
        roster = Roster(owner.station, database.catalog.queries())
        database.keeping = None
        owner.changes = take_up(database, roster, lambda _: None)
        stack.enter_context(roster)
        roster.begin(alone=False)
        stack.enter_context(dashboard(owner, pushes))
        yield Served(database, owner, roster)


def _declared(sensor: Sensor) -> str:
    place = "" if sensor.location is None else f" AT ({sensor.location[0]!r}, {sensor.location[1]!r})"
    return f"CREATE SENSOR {literal(sensor.id)} OF {sensor.stream}{place};"
