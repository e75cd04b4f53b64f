"""Runs the demo: simulated monitors send through a radio to the log, and live queries start, stop and send
commands back.

In every frame some of the field's time passes, the station takes what came, and the screen is redrawn. The
clock is the field's, so the same seed gives the same demo.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nilometer.engine import Database, connect
from nilometer.errors import InternalError
from nilometer.ingest.adapters.push import Pushes
from nilometer.laboratory.demo.field import QUESTIONS, SCHEMA, STEP, Question, field_of, radio_of
from nilometer.laboratory.demo.screen import Screen
from nilometer.laboratory.demo.served import Dashboard, Served, served
from nilometer.live.answers import Answer, to_text
from nilometer.live.live_query import LiveQuery
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.simulated import SimulatedField
from nilometer.simulated.fields.generator import START
from nilometer.spark.installed import require_spark
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
    """A question, its query while it runs, and the latest of its answers.

    `spark` is the same query on Spark. Once it answers, its answers are shown, and the gateway's query ends.
    """

    question: Question
    gateway: LiveQuery | None = None
    spark: LiveQuery | None = None
    counts: Counter[str] = field(default_factory=Counter)
    on_spark: bool = False
    latest: deque[str] = field(default_factory=lambda: deque(maxlen=3))

    @property
    def live(self) -> LiveQuery | None:
        """The query whose answers are shown."""
        return self.spark if self.on_spark else self.gateway

    @property
    def host(self) -> str:
        """The host that has answered last."""
        return "spark" if self.counts["spark"] else "gateway"

    @property
    def rows(self) -> int:
        """The number of rows from that host."""
        return self.counts[self.host]

    def fetch(self) -> None:
        """Count the new answers, and keep the latest of them as text."""
        if self.spark is not None:
            for answer in self.spark.take():
                self.on_spark |= len(answer) > 0
                self._keep(answer, "spark")
        if self.gateway is not None and not self.on_spark:
            for answer in self.gateway.take():
                self._keep(answer, "gateway")

    def _keep(self, answer: Answer, host: str) -> None:
        self.counts[host] += len(answer)
        for row in answer.rows[-(self.latest.maxlen or 1) :]:
            parts = (
                _shown(name, to_text(value, column.type))
                for name, value, column in zip(answer.schema.names, row, answer.schema, strict=True)
            )
            self.latest.append("  ".join(parts))


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
    dashboard: Dashboard | None = None,
) -> dict[str, Any]:
    """Run for `seconds` (None: repeat the script until Ctrl-C), print a summary and return its figures.

    The gateway answers from the first second. With `on` "spark" the script begins again once Spark is up, and
    each question moves to Spark as soon as Spark answers it. `dashboard` serves the demo meanwhile.
    """
    monitors = field_of(sensors, seed)
    clock = FieldClock()
    shown = [Shown(question) for question in QUESTIONS]
    script = seconds if seconds is not None else 60.0
    seen: Counter[str] = Counter()
    starting = _start_spark() if on == "spark" else None
    started = time.monotonic()
    with (
        _stationed(monitors, seed, clock, keep, dashboard) as (station, database, site),
        Screen(monitors) as screen,
    ):
        frame, began, spark_is_up = 0, 0, False
        try:
            while starting is not None or seconds is None or frame - began < seconds * FRAMES_A_SECOND:
                if starting is not None and starting.done():
                    starting.result()
                    starting, began, spark_is_up = None, frame, True
                part = (frame - began) / FRAMES_A_SECOND % script / script
                _change(station, database, shown, part, spark_is_up)
                clock.now += STEP
                if site is not None:
                    for each in shown:
                        site.ask(each.question, wanted=_wanted(each, part))
                    site.attend()
                for _ in range(TURNS):
                    if not station.step():
                        break
                for each in shown:
                    each.fetch()
                frame += 1
                doing = paces(station)
                seen |= doing
                status = station.manager.status("air") if station.manager.streams else None
                said = "Spark starts; the gateway answers" if starting is not None else ""
                screen.draw(station, status, shown, doing, time.monotonic() - started, said)
                ahead = frame / FRAMES_A_SECOND - (time.monotonic() - started)
                if ahead > 0:
                    (wait if site is None else site.wait)(ahead)
        except KeyboardInterrupt:
            screen.interrupted()
        for each in shown:
            if each.spark is not None:
                # Spark is a few micro-batches behind the field.
                station.remove(each.spark.name)
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
            "hosts": {each.question.title: each.host for each in shown},
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


@contextmanager
def _stationed(
    monitors: SimulatedField, seed: int, clock: FieldClock, keep: Path | None, dashboard: Dashboard | None
) -> Iterator[tuple[Station, Database, Served | None]]:
    """The station of the demo: by itself, or that of an owner whose directory is served."""
    radio = radio_of(monitors, seed)
    settings = StationSettings(heartbeat=5 * MINUTE)
    if dashboard is not None:

        def outside(pushes: Pushes) -> Outside:
            return Outside(clock=clock, generators={"field": lambda _: radio}, pushes=pushes)

        with served(monitors.sensors_of("air"), keep, settings, outside, dashboard) as site:
            yield site.owner.station, site.database, site
        return
    database = connect()
    database.execute(SCHEMA)
    database.catalog.add_sensors(monitors.sensors_of("air"))
    outside_alone = Outside(clock=clock, generators={"field": lambda _: radio})
    with Station(database, keep, settings, outside_alone) as station:
        yield station, database, None


def _wanted(each: Shown, part: float) -> bool:
    return each.question.begins <= part < each.question.ends


def _start_spark() -> Future[Any]:
    """Start Spark beside the demo."""
    require_spark()
    from nilometer.spark.session import spark_session

    executor = ThreadPoolExecutor(1, thread_name_prefix="spark")
    starting = executor.submit(spark_session)
    executor.shutdown(wait=False)
    return starting


def _change(station: Station, database: Database, shown: list[Shown], part: float, spark_is_up: bool) -> None:
    """Start and stop queries as the script says, and move those that Spark answers to Spark."""
    for each in shown:
        name = each.question.name
        wanted = _wanted(each, part)
        if wanted and each.live is None:
            query = database.sql(each.question.sql)
            each.gateway, each.on_spark = station.install(query, f"{name}_on_gateway"), False
        if wanted and spark_is_up and each.spark is None:
            query = database.sql(each.question.sql)
            each.spark = station.install(query, f"{name}_on_spark", on="spark")
        if each.gateway is not None and (each.on_spark or not wanted):
            each.fetch()
            station.remove(each.gateway.name)
            each.fetch()
            each.gateway = None
        if each.spark is not None and not wanted:
            station.remove(each.spark.name)
            each.fetch()
            each.spark = None
