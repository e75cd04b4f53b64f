"""What storms are made of: two streams with late, early and double readings, and texts of queries over them."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl

from nilometer.engine import Database, connect
from nilometer.types import MINUTE

START = 1_767_225_600_000_000
STREAMS = ("air", "wind")
SCHEMA = "".join(
    f"CREATE STREAM {name} (x FLOAT, place STRING) PUSHED FROM 'directory://{{folder}}/from-{name}?follow=1'"
    " DELAY 2 MINUTES KEY (id, time);\n"
    for name in STREAMS
)

FAMILIES = (
    (
        "SELECT time, id, x FROM air",
        "SELECT time, id, x FROM air WHERE x > 5",
        "SELECT time, id, x FROM air WHERE x > 3 AND id = 2",
        "SELECT time, id, x FROM wind WHERE place IN ('quay', 'mast') AND x < 6",
    ),
    (
        "SELECT id, SUM(x) AS total FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id",
        "SELECT id, SUM(x) AS total FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id HAVING SUM(x) > 9",
        "SELECT id, SUM(x) AS total FROM air [RANGE 8 MINUTES SLIDE 2 MINUTES] GROUP BY id",
        "SELECT id, COUNT(*) AS n, MAX(x) AS top FROM air [RANGE 6 MINUTES SLIDE 3 MINUTES] GROUP BY id",
    ),
    (
        "SELECT COUNT(*) AS n, AVG(x) AS mean FROM wind [RANGE 6 MINUTES SLIDE 3 MINUTES]",
        "SELECT COUNT(*) AS n, AVG(x) AS mean FROM wind [RANGE 6 MINUTES SLIDE 3 MINUTES] WHERE x > 2",
        "SELECT place, COUNT(DISTINCT id) AS n FROM wind [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY place",
    ),
    (
        "SELECT COUNT(*) AS n, AVG(x) AS mean FROM air [NOW]",
        "SELECT COUNT(*) AS n, AVG(x) AS mean FROM air [NOW] WHERE x > 2",
        "SELECT COUNT(*) AS n, AVG(x) AS mean FROM air [NOW] HAVING COUNT(*) > 1",
    ),
    (
        "SELECT a.x, w.x AS other FROM air [NOW] a, wind [RANGE 2 MINUTES] w WHERE a.id = w.id",
        "SELECT a.x, w.x AS other FROM air [NOW] a, wind [RANGE 3 MINUTES] w WHERE a.id = w.id",
        "SELECT a.x, w.x AS other FROM air [NOW] a, wind [RANGE 3 MINUTES] w WHERE a.id = w.id AND a.x < w.x",
    ),
)
"""Texts between which a query is replaced. Some of a family keep their state, some must read the logs again."""

STATES = ("", "KEEP STATE", "BACKFILL", "EMPTY STATE")


def field(folder: Path, more: str = "") -> Database:
    """A directory whose streams are folders of files that grow."""
    for name in STREAMS:
        (folder / f"from-{name}").mkdir(parents=True, exist_ok=True)
    (folder / "schema.sql").write_text(SCHEMA.format(folder=folder) + more)
    return connect(folder)


class Weather:
    """Writes files of readings. `sent` are the readings of each stream, by id and time."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self._folder = folder
        self._dice = dice
        self._minute = self._files = 0
        self.sent: dict[str, set[tuple[int, int]]] = {name: set() for name in STREAMS}

    def blow(self, minutes: int) -> None:
        """The readings of some minutes: some late, some in the wrong order, some sent twice."""
        for stream in STREAMS:
            rows = []
            for minute in range(self._minute, self._minute + minutes):
                for sensor in (1, 2, 3):
                    if self._dice.random() < 0.2:
                        continue
                    late = self._dice.choice((0, 0, 0, 0, 1, 2, 5)) if minute > 5 else 0
                    rows.append(self._reading(minute - late, sensor))
            rows += self._dice.sample(rows, min(len(rows), 2))
            if rows:
                self._write(stream, rows)
        self._minute += minutes

    def calm(self, minutes: int = 12) -> None:
        """Readings in order, so that windows close."""
        for stream in STREAMS:
            readings = [
                self._reading(self._minute + minute, sensor) for minute in range(minutes) for sensor in (1, 2)
            ]
            self._write(stream, readings)
        self._minute += minutes

    def _reading(self, minute: int, sensor: int) -> tuple[int, int, float | None, str]:
        # A double is equal to its first: the log keeps either.
        made = random.Random(minute * 7 + sensor)
        x = None if made.random() < 0.05 else float(made.randrange(9))
        return START + minute * MINUTE, sensor, x, made.choice(("quay", "mast", "bank"))

    def _write(self, stream: str, rows: list[tuple[int, int, float | None, str]]) -> None:
        self.sent[stream] |= {(row[1], row[0]) for row in rows}
        self._files += 1
        aside = self._folder / f"from-{stream}" / f".{self._files:06d}.csv"
        pl.DataFrame(rows, schema=["time", "id", "x", "place"], orient="row").write_csv(aside)
        aside.rename(aside.with_name(aside.name[1:]))
