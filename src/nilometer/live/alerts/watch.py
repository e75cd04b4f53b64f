"""One alert at work: judges new answers, writes the decisions down, and tries to deliver them.

The law: the decision is durable before anybody is told. If it cannot be written down, the alert forgets it, and judges
the same answers again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from nilometer.catalog import QueryDefinition
from nilometer.dataflow.failures import Caught
from nilometer.errors import ConfigurationError, NilometerError
from nilometer.live.alerts.alert_log import AlertLog
from nilometer.live.alerts.book import MOST_WAITING, Book, Delivery, key_of
from nilometer.live.alerts.incidents import Transition, incident_id
from nilometer.live.alerts.messages import document_of
from nilometer.live.alerts.settings import AlertSettings, settings_of
from nilometer.live.alerts.transports import send
from nilometer.live.control import next_aside
from nilometer.live.standing import result_files
from nilometer.log import failpoints
from nilometer.sinks.commits import CommitPlace, Commits
from nilometer.sinks.places import keep_place, kept_place
from nilometer.sinks.sink import GROUP_ROWS, Answered
from nilometer.sinks.values import json_rows, rows_of
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

KEEP_EVERY = 10.0
"""Seconds between two records of how far answers were judged, if they call for no decision."""
RETRY, LONGEST_RETRY = 0.5, 300.0
"""How soon a delivery that failed is tried again, in seconds; doubled each time."""

Send = Callable[[AlertSettings, Mapping[str, Any], Path], None]


class Watch:
    """Thread-safe: one thread judges, another delivers, and people silence and acknowledge."""

    def __init__(
        self,
        directory: Path,
        definition: QueryDefinition,
        identity: str,
        sending: Send = send,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.directory = directory
        self.definition = definition
        self.identity = identity
        assert definition.made_by is not None, "a query that is no alert"
        self.settings = settings_of(definition.made_by, definition.columns)
        self._sending = sending
        self._clock = clock
        self._turn = threading.RLock()
        self._failpoint = failpoints.from_environment("alerts")
        digest = blake2b(b"alert", digest_size=4).hexdigest()
        self._reader = f"alert-{digest}"
        self._retry_at = 0.0
        self._open()

    def _open(self) -> None:
        """Begin with what the log says."""
        self._log = AlertLog(self.directory, self.settings.name)
        self.book = Book.new(self.settings, self._evidence)
        for record in self._log.records:
            self.book.take(record)
        self.book.incidents.changes()
        name = self.definition.name
        self._commits = Commits(lambda: result_files(self.directory, name))
        self._part = str(next_aside(self.directory, name))
        self._answered: Answered | None = None
        self._kept_at, self._unkept = self._clock(), False
        self._place: CommitPlace | None = None
        if self.book.part == self._part:
            self._commits.seek(kept_place(result_files(self.directory, name), self._reader) or CommitPlace())
        if self.book.groups != self.settings.groups:
            self._decide(self.book.incidents.close_all())
            self.book.groups = self.settings.groups

    # ---- judging -----------------------------------------------------------------------------------------------------

    def judge(self, rows: int | None = None, watermark: int | None = None) -> None:
        """Judge all new answers. `watermark` is the query's, when it had answered that many rows."""
        with self._turn:
            try:
                self._judge(rows, watermark)
            except NilometerError:
                self._open()
                raise

    def _judge(self, rows: int | None, watermark: int | None) -> None:
        if self._part != str(next_aside(self.directory, self.definition.name)):
            self._open()
        if self.book.part != self._part:
            # The query has begun anew. Answers up to the newest time that was judged are no news.
            self.book.part, self.book.position = self._part, 0
            self.book.barrier = self.book.horizon
        while found := self._commits.read(GROUP_ROWS):
            decided: list[Transition] = []
            for answered, place in found:
                decided += self._take(answered)
                self._place, self._unkept = place, True
            if decided:
                self._decide(decided)
        heard = watermark not in (None, INT_MINIMUM, INT_MAXIMUM)
        if heard and watermark is not None and rows is not None and self.book.position >= rows:
            decided = self.book.incidents.pass_time(watermark)
            if decided:
                self._decide(decided)
        if self._unkept and self._clock() - self._kept_at >= KEEP_EVERY:
            self._decide([])

    def _take(self, answered: Answered) -> list[Transition]:
        skipped = max(0, self.book.position - answered.position)
        frame = answered.rows[skipped:] if skipped else answered.rows
        self.book.position = max(self.book.position, answered.position + answered.rows.height)
        when = self.settings.time
        if not frame.height or when not in frame.columns:
            return []  # answers of an older text may have no such column
        frame = frame.filter(pl.col(when).is_not_null() & (pl.col(when).cast(pl.Int64) > self.book.barrier))
        if not frame.height:
            return []
        self._answered = answered
        newest = frame[when].cast(pl.Int64).max()
        assert isinstance(newest, int)
        self.book.horizon = max(self.book.horizon, newest)
        now = time.time_ns() // 1_000
        return self.book.incidents.take(self._groups(frame), lambda key: self.book.muted(key, now))

    def _groups(self, frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
        groups = self.settings.groups
        if not groups:
            return {key_of(()): frame}
        missing = [pl.lit(None).alias(name) for name in groups if name not in frame.columns]
        parts = frame.with_columns(missing).partition_by(groups, maintain_order=True, as_dict=True)
        return {key_of(values): part for values, part in parts.items()}

    def _evidence(self, row: pl.DataFrame) -> dict[str, Any]:
        assert self._answered is not None, "evidence without an answer"
        schema = self._answered.schema
        return next(json_rows(rows_of(row, schema), schema))

    def _decide(self, transitions: list[Transition]) -> None:
        """Write decisions down, with how far answers were judged; then they may be told."""
        room = MOST_WAITING - len(self.book.waiting)
        deliveries = []
        for one in transitions:
            delivery = self._delivery(one)
            if delivery.silenced is None:
                room -= 1
                if room < 0:
                    delivery = replace(delivery, silenced=f"{MOST_WAITING} messages wait already")
            deliveries.append(delivery)
        record = {
            "do": "decided",
            "part": self.book.part,
            "position": self.book.position,
            "horizon": self.book.horizon,
            "barrier": self.book.barrier,
            "groups": list(self.settings.groups),
            "incidents": self.book.incidents.changes(),
            "deliveries": [asdict(one) for one in deliveries],
        }
        self._write(record)
        if self._place is not None:
            keep_place(result_files(self.directory, self.definition.name), self._reader, self._place)
        self._kept_at, self._unkept = self._clock(), False

    def _delivery(self, one: Transition) -> Delivery:
        incident = one.incident
        name = incident_id(f"{self.settings.name.lower()}@{self.identity}", incident)
        again = one.status == "firing" and one.silenced is None and one.at != incident.fired
        suffix = f"firing-{one.at}" if again else one.status
        return Delivery(
            f"{name}-{suffix}",
            name,
            one.status,
            incident.key,
            one.at,
            incident.since,
            incident.rows,
            incident.evidence,
            one.silenced,
        )

    def _write(self, record: dict[str, Any]) -> None:
        self._failpoint("before_decision")
        self._log.append(record)
        self._failpoint("after_decision")
        self.book.take(record, own=record["do"] == "decided")
        if self._log.full:
            self._log.begin_file(self.book.state())

    # ---- delivering --------------------------------------------------------------------------------------------------

    def due(self) -> bool:
        """Whether a message waits, and may be tried now."""
        with self._turn:
            return bool(self.book.waiting) and self._clock() >= self._retry_at

    def deliver(self) -> bool:
        """Try to send the first message that waits. Returns whether it was taken."""
        with self._turn:
            delivery = next(iter(self.book.waiting.values()), None)
        if delivery is None:
            return False
        error = self._try(document_of(self.settings, delivery, self.identity))
        self._failpoint("after_sending")
        with self._turn:
            given_up = error is not None and self.book.attempts >= self.settings.retries
            self._write({"do": "attempt", "id": delivery.id, "error": error, "given_up": given_up})
            wait = min(RETRY * 2 ** max(0, self.book.attempts - 1), LONGEST_RETRY)
            self._retry_at = 0.0 if error is None or given_up else self._clock() + wait
        return error is None

    def _try(self, document: Mapping[str, Any]) -> str | None:
        try:
            self._sending(self.settings, document, self.directory)
        except Caught as error:
            detail = getattr(error, "detail", None)
            text = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            hint = getattr(error, "hint", None)
            return (text if detail is None else f"{text}: {detail}") + (f"; {hint}" if hint else "")
        return None

    # ---- people ------------------------------------------------------------------------------------------------------

    def silence(self, key: str, until: int | None, by: str) -> None:
        """Tell nobody of a group ("": of all) until that moment; None: speak again."""
        with self._turn:
            self._write({"do": "silence", "key": key, "until": until, "by": by})

    def acknowledge(self, key: str, by: str) -> int:
        """Somebody takes care of a group ("": of all that fire). Returns how many incidents that are."""
        with self._turn:
            firing = [k for k, one in self.book.incidents.open.items() if one.fired is not None]
            wanted = [one for one in firing if key in ("", one)]
            if not wanted:
                raise ConfigurationError(
                    f"nothing of alert '{self.settings.name}' fires" + (f" in group {key}" if key else ""),
                    hint=f"firing: {', '.join(firing)}" if firing else None,
                )
            for one in wanted:
                self._write({"do": "acknowledge", "key": one, "by": by})
            return len(wanted)


def group_key(settings: AlertSettings, group: Mapping[str, Any] | None) -> str:
    """The key of a group that a person names: {"id": "a1"}; "" for all groups."""
    if not group:
        return ""
    named = {name.lower(): value for name, value in group.items()}
    missing = [name for name in settings.groups if name.lower() not in named]
    if missing or len(named) != len(settings.groups):
        raise ConfigurationError(
            f"a group of alert '{settings.name}' is named by {', '.join(settings.groups) or 'nothing'}",
            hint=json.dumps(dict.fromkeys(settings.groups, "...")) if settings.groups else "leave it out",
        )
    return key_of(tuple(named[name.lower()] for name in settings.groups))
