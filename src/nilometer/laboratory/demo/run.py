"""Runs the demo: every step brings a slice of the field's time to all running queries, and the screen is drawn anew."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from nilometer.catalog import Sensor, Stream, Table
from nilometer.edge.gateway import Batch, Entry, Run
from nilometer.edge.ledger import Ledger
from nilometer.engine import Database, Query, connect
from nilometer.engine.answers import rows_of, to_text
from nilometer.errors import InternalError
from nilometer.laboratory.demo.field import QUESTIONS, STEP, Question, field_of, slices
from nilometer.laboratory.demo.screen import Screen
from nilometer.types import DAY

FRAMES_A_SECOND = 8


@dataclass
class Mailbox:
    """A query's own way into the shared slices: what has come and was not read yet. Closed, it ends the stream."""

    database: Database
    waiting: deque[pl.DataFrame] = field(default_factory=deque)
    closed: bool = False

    def entries(self, stream: Stream) -> Iterator[Entry]:  # noqa: ARG002 - all slices are of the one stream
        """The log as it grows; an empty batch while there is nothing new."""
        nothing = Batch(pl.DataFrame(schema=self.waiting[0].schema if self.waiting else None))
        while self.waiting or not self.closed:
            if self.waiting:
                rows = self.waiting.popleft()
                nothing = Batch(rows.clear())
                yield Batch(rows)
            else:
                yield nothing

    def table(self, table: Table) -> pl.DataFrame:
        """The demo has no stored extents."""
        raise InternalError(f"the demo has no table {table.name}")

    def sensors(self, stream: Stream) -> tuple[Sensor, ...]:
        """The field's monitors."""
        return self.database.catalog.sensors(stream.name)


@dataclass
class Standing:
    """A query while it runs, and the last of its answers."""

    question: Question
    query: Query
    mailbox: Mailbox
    run: Run
    latest: deque[str]
    rows: int = 0

    def step(self) -> None:
        """One round; keeps the newest answers as text."""
        self.keep(self.run.step())

    def keep(self, answer: pl.DataFrame) -> None:
        """Count an answer, and remember its last rows."""
        self.rows += answer.height
        schema = self.query.schema
        for row in rows_of(answer.tail(self.latest.maxlen or 1), schema):
            parts = (
                _shown(name, to_text(v, c.type)) for name, v, c in zip(schema.names, row, schema, strict=True)
            )
            self.latest.append("  ".join(parts))


def _shown(name: str, text: str) -> str:
    if name in ("tick", "time"):
        return text[11:16]
    return f"{name} {text[:7]}" if text.replace(".", "").replace("-", "").isdigit() else f"{name} {text}"


def run_demo(
    seconds: float | None, sensors: int, seed: int, wait: Callable[[float], None] = time.sleep
) -> dict[str, Any]:
    """Run for so many seconds (None: until Ctrl-C), then print a summary; gives the figures. `wait` keeps the pace."""
    described = field_of(sensors, seed, DAY)
    database = connect()
    stream = described.stream()
    database.catalog.add_stream(stream)
    database.catalog.add_sensors(described.sensors())
    standing = [_install(database, question) for question in QUESTIONS]
    source = slices(described)
    started = time.monotonic()
    readings = 0
    with Screen(described, seconds) as screen:
        step = 0
        try:
            while seconds is None or step < seconds * FRAMES_A_SECOND:
                rows = next(source)
                readings += rows.height
                for query in standing:
                    query.mailbox.waiting.append(rows)
                    query.step()
                step += 1
                screen.draw(rows, standing, _ledger(standing), time.monotonic() - started)
                ahead = step / FRAMES_A_SECOND - (time.monotonic() - started)
                if ahead > 0:
                    wait(ahead)
        except KeyboardInterrupt:
            screen.interrupted()
        for query in standing:
            query.mailbox.closed = True
            for answer in query.run:
                query.keep(answer)
    elapsed = time.monotonic() - started
    ledger = _ledger(standing)
    figures = {
        "readings": readings,
        "field_hours": step * STEP / (DAY / 24),
        "seconds": elapsed,
        "ledger": ledger.as_dict(),
        "balanced": ledger.balanced,
        "answers": {query.question.title: query.rows for query in standing},
    }
    screen.summary(figures)
    if not ledger.balanced:
        raise InternalError("the books do not balance", detail=str(ledger.as_dict()))
    return figures


def _install(database: Database, question: Question) -> Standing:
    query = database.sql(question.sql)
    mailbox = Mailbox(database)
    run = Run(query.physical, mailbox, None)
    return Standing(question, query, mailbox, run, deque(maxlen=4))


def _ledger(standing: list[Standing]) -> Ledger:
    """All queries read the same stream, so the books of one are the books of all."""
    return standing[0].run.summary.ledgers["air"]
