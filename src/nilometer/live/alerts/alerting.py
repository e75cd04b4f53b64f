"""All alerts of a running database: one thread judges answers, a few deliver messages.

    station's loop ─► look: how many rows each alert's query has answered, and its watermark
    nilometer-alerts ─► judges the alerts whose queries have moved
    up to SENDERS threads ─► send, one message of an alert at a time

The laws: no query waits for an alert, and no alert for another one's receiver.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nilometer.catalog import QueryDefinition
from nilometer.dataflow.failures import Caught
from nilometer.errors import ConfigurationError
from nilometer.live.alerts.transports import send
from nilometer.live.alerts.watch import Send, Watch
from nilometer.live.identity import identity_of

if TYPE_CHECKING:
    from nilometer.live.station import Station

LOOK_EVERY = 0.2
"""Seconds between two looks at the queries."""
SENDERS = 8
FAREWELL = 5.0
"""Seconds that messages get at the end. The rest is sent next time."""

Seen = tuple[int, int | None]


class Alerting:
    """Runs until the end of its `with`. `say` receives a line for people when an alert cannot be told, or can again."""

    def __init__(
        self,
        station: Station,
        *,
        say: Callable[[str], None] = lambda _: None,
        sending: Send = send,
    ) -> None:
        self._station = station
        self._say = say
        self._sending = sending
        self._seen: dict[str, Seen] = {}
        self._definitions: dict[str, QueryDefinition] = {}
        self.watches: dict[str, Watch] = {}
        self.troubles: dict[str, str] = {}
        """What keeps an alert from being judged, by its name."""
        self._judged: dict[str, Seen] = {}
        self._busy: set[str] = set()
        self._said: dict[str, str | None] = {}
        self._turn = threading.Lock()
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._looked = 0.0
        self._pool = ThreadPoolExecutor(SENDERS, "nilometer-sender")
        self._thread = threading.Thread(target=self._run, name="nilometer-alerts", daemon=True)

    def __enter__(self) -> Self:
        self.look(at_once=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.look(at_once=True)
        self._ended.set()
        self._wake.set()
        self._thread.join(FAREWELL)
        self._pool.shutdown(wait=False, cancel_futures=True)

    # ---- in the station's loop ---------------------------------------------------------------------------------------

    def look(self, *, at_once: bool = False) -> None:
        """Note how far the alerts' queries are; cheap if called often."""
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY and not at_once:
            return
        self._looked = now
        definitions = {one.name: one for one in self._station.database.catalog.reactions("ALERT")}
        seen = {}
        for name in definitions:
            live = self._station.queries.get(name)
            if live is not None:
                seen[name] = (live.rows, live.watermark)
        self._definitions, self._seen = definitions, seen
        if definitions:
            self._wake.set()

    def forget(self, name: str) -> None:
        """The alert is dropped, or declared anew."""
        with self._turn:
            for known in [one for one in self.watches if one.lower() == name.lower()]:
                del self.watches[known]
                self._judged.pop(known, None)
            for known in [one for one in self._definitions if one.lower() == name.lower()]:
                del self._definitions[known]

    def watch(self, name: str) -> Watch:
        """The alert of that name."""
        with self._turn:
            for definition in self._definitions.values():
                if definition.name.lower() == name.lower():
                    return self._watch(definition)
        raise ConfigurationError(f"there is no alert '{name}'", hint="SHOW ALERTS lists them")

    def _watch(self, definition: QueryDefinition) -> Watch:
        watch = self.watches.get(definition.name)
        if watch is None or watch.definition != definition:
            directory = self._station.directory
            watch = Watch(directory, definition, identity_of(directory), self._sending)
            self.watches[definition.name] = watch
        return watch

    # ---- in the thread of the alerts ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wake.wait(LOOK_EVERY)
            self._wake.clear()
            self._step()
        self._step()
        until = time.monotonic() + FAREWELL / 2
        while time.monotonic() < until and (self._busy or self._dispatch()):
            time.sleep(0.02)

    def _step(self) -> None:
        for name in list(self._definitions):
            try:
                with self._turn:
                    definition = self._definitions.get(name)
                    if definition is None:
                        continue
                    watch = self._watch(definition)
                seen = self._seen.get(name)
                if self._judged.get(name) != seen or name in self.troubles:
                    watch.judge(*(seen or (None, None)))
                    if seen is not None:
                        self._judged[name] = seen
                self.troubles.pop(name, None)
            except Caught as error:
                self.troubles[name] = getattr(error, "message", str(error))
            self._tell(name)
        self._dispatch()

    def _dispatch(self) -> bool:
        """Give the alerts whose messages are due to the senders. Returns whether there were any."""
        due = [name for name, watch in list(self.watches.items()) if name not in self._busy and watch.due()]
        for name in due:
            self._busy.add(name)
            self._pool.submit(self._deliver, name, self.watches[name])
        return bool(due)

    def _deliver(self, name: str, watch: Watch) -> None:
        try:
            while watch.deliver() and watch.due() and not self._ended.is_set():
                pass
        except Caught as error:
            self.troubles[name] = getattr(error, "message", str(error))
        finally:
            self._busy.discard(name)
            self._wake.set()

    def _tell(self, name: str) -> None:
        watch = self.watches.get(name)
        trouble = self.troubles.get(name) or (None if watch is None else watch.book.trouble)
        if trouble != self._said.get(name):
            self._said[name] = trouble
            self._say(f"alert {name}: {trouble or 'well again'}")

    # ---- people ------------------------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, dict[str, Any]]:
        """The counts of each alert."""
        return {
            name: {
                "firing": sum(one.fired is not None for one in list(watch.book.incidents.open.values())),
                "waiting": len(watch.book.waiting),
                "sent": watch.book.sent,
                "failed": watch.book.failed,
                "fired": watch.book.fired,
            }
            for name, watch in list(self.watches.items())
        }
