"""Runs the demo: simulated monitors send through a radio to the log, and live queries start, stop and send
commands back.

In every frame some of the field's time passes, the station takes what came, and the screen is redrawn. The
clock is the field's, so the same seed gives the same demo.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nilometer.engine import Database, connect
from nilometer.errors import InternalError
from nilometer.laboratory.demo.field import QUESTIONS, SCHEMA, STEP, Question, field_of, radio_of
from nilometer.laboratory.demo.screen import Screen
from nilometer.live.answers import to_text
from nilometer.live.live_query import LiveQuery
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.simulated.fields.generator import START
from nilometer.types import HOUR, MINUTE, format_duration

FRAMES_A_SECOND = 8
TURNS = 16
"""The most turns of the station's loop in a frame: readings, answers, commands, acknowledgements."""


@dataclass
class FieldClock:
    """The field's time."""

    now: int = START

    def __call__(self) -> int:
        return self.now


@dataclass
class Shown:
    """A question, its query while it runs, and the latest of its answers."""

    question: Question
    live: LiveQuery | None = None
    rows: int = 0
    asked: bool = False
    latest: deque[str] = field(default_factory=lambda: deque(maxlen=3))
    books: dict[str, int] = field(default_factory=dict)

    def fetch(self) -> None:
        """Count the new answers, and keep the latest of them as text."""
        if self.live is None:
            return
        for answer in self.live.take():
            self.rows += len(answer)
            schema = self.live.query.schema
            for row in answer.head(len(answer)).rows[-(self.latest.maxlen or 1) :]:
                parts = (
                    _shown(name, to_text(value, column.type))
                    for name, value, column in zip(schema.names, row, schema, strict=True)
                )
                self.latest.append("  ".join(parts))
        self.books = self.live.ledger.as_dict()


def _shown(name: str, text: str) -> str:
    if name in ("tick", "time"):
        return text[11:16]
    return f"{name} {text[:7]}" if text.replace(".", "").replace("-", "").isdigit() else f"{name} {text}"


def paces(station: Station) -> Counter[str]:
    """The number of sensors in each state: sampling at an interval, with or without a filter, or asleep."""
    counts: Counter[str] = Counter()
    for row in station.fleet.rows().iter_rows(named=True):
        if row["state"] == "asleep":
            counts["asleep"] += 1
        elif row["state"] == "running" and row["interval"]:
            filtered = ", filtered" if row["filter"] not in (None, "TRUE") else ""
            counts[f"every {format_duration(row['interval']).lower()}{filtered}"] += 1
        else:
            counts[row["state"]] += 1
    return counts


def run_demo(
    seconds: float | None,
    sensors: int,
    seed: int,
    wait: Callable[[float], None] = time.sleep,
    keep: Path | None = None,
    on: str = "gateway",
) -> dict[str, Any]:
    """Run for `seconds` (None: repeat the script until Ctrl-C), print a summary and return its figures.

    `on` is the host of the queries. On Spark they start a little later, and the field waits for them.
    """
    monitors = field_of(sensors, seed)
    radio = radio_of(monitors, seed)
    database = connect()
    database.execute(SCHEMA)
    database.catalog.add_sensors(monitors.sensors_of("air"))
    clock = FieldClock()
    shown = [Shown(question) for question in QUESTIONS]
    script = seconds if seconds is not None else 60.0
    seen: Counter[str] = Counter()
    if on == "spark":
        _start_spark()
    started = time.monotonic()
    with (
        Station(
            database,
            keep,
            StationSettings(heartbeat=5 * MINUTE),
            Outside(clock=clock, generators={"field": lambda _: radio}),
        ) as station,
        Screen(monitors, seconds) as screen,
    ):
        frame = 0
        try:
            while seconds is None or frame < seconds * FRAMES_A_SECOND:
                _change(station, database, shown, frame / FRAMES_A_SECOND % script / script, on)
                clock.now += STEP
                for _ in range(TURNS):
                    if not station.step():
                        break
                for each in shown:
                    each.fetch()
                frame += 1
                doing = paces(station)
                seen |= doing
                status = station.manager.status("air") if station.manager.streams else None
                screen.draw(station, status, shown, doing, time.monotonic() - started)
                ahead = frame / FRAMES_A_SECOND - (time.monotonic() - started)
                if ahead > 0:
                    wait(ahead)
        except KeyboardInterrupt:
            screen.interrupted()
        for each in shown:
            if on == "spark" and each.live is not None:
                # Spark is a few micro-batches behind the field.
                station.remove(each.question.name)
                each.fetch()
        ledger = station.logs.log("air").note or {}
        energy = monitors.energy()
        changes = list(station.logs.log("air").demands())
        segments = station.logs.log("air").segments()
        books = ledger.get("ledger", {})
        figures: dict[str, Any] = {
            "field_hours": frame * STEP / HOUR,
            "seconds": time.monotonic() - started,
            "ledger": books,
            "balanced": books.get("received") == sum(n for name, n in books.items() if name != "received"),
            "queries_balanced": all(each.live is None or each.live.ledger.balanced for each in shown),
            "answers": {each.question.title: each.rows for each in shown},
            "paces": dict(seen),
            "demand_changes": len(changes),
            "log_bytes": sum(segment.index.size for segment in segments),
            "milliwatts": energy.watts * 1e3,
            "lifetime_days": energy.lifetime / 86_400,
        }
        screen.summary(figures)
    if not (figures["balanced"] and figures["queries_balanced"]):
        raise InternalError("the books do not balance", detail=str(figures))
    return figures


def _start_spark() -> None:
    from nilometer.spark.session import spark_session

    print("starting Spark ...", file=sys.stderr, flush=True)
    spark_session()


def _change(station: Station, database: Database, shown: list[Shown], part: float, on: str) -> None:
    """Start and stop queries as the script says."""
    for each in shown:
        wanted = each.question.begins <= part < each.question.ends
        if wanted and each.live is None:
            each.live = station.install(database.sql(each.question.sql), each.question.name, on=on)
        elif not wanted and each.live is not None:
            each.fetch()
            station.remove(each.question.name)
            each.fetch()
            each.live = None
