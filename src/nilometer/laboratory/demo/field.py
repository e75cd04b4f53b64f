"""The demo's field: smoke drifts over air monitors, some of which fall silent, repeat themselves or come late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl

from nilometer.laboratory.disorder import Disorder
from nilometer.laboratory.generators.moving_plume import MovingPlume
from nilometer.types import HOUR, MINUTE, SECOND

STEP = 2 * MINUTE
"""How much of the field's time passes in one frame of the demo."""


@dataclass(frozen=True)
class Question:
    """A continuous query of the demo, and what it asks in words."""

    title: str
    sql: str


QUESTIONS = (
    Question(
        "the whole field, every 10 minutes",
        "SELECT COUNT(*) AS readings, AVG(concentration) AS mean, MAX(concentration) AS worst, COMPLETENESS() AS complete "
        "FROM air [RANGE 10 MINUTES SLIDE 10 MINUTES]",
    ),
    Question(
        "monitors in the smoke: mean of the last 15 minutes above 35",
        "SELECT id, AVG(concentration) AS mean FROM air [RANGE 15 MINUTES SLIDE 5 MINUTES] "
        "GROUP BY id HAVING AVG(concentration) > 35",
    ),
    Question(
        "the smoke arrives: monitors that were clear five minutes ago",
        "ISTREAM SELECT id FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY id HAVING MAX(concentration) > 35",
    ),
    Question("who falls silent, who returns", "SELECT time, id, state FROM SILENT(air FOR 8 MINUTES)"),
)


def field_of(sensors: int, seed: int, duration: int) -> MovingPlume:
    """The field's description."""
    return MovingPlume(
        sensor_count=sensors,
        duration=duration,
        interval=MINUTE,
        seed=seed,
        jitter=0.5,
        name="air",
        width=4000.0,
        height=2000.0,
        wind=(0.35, 0.05),
        source=(-0.05, 0.35),
        release=2 * HOUR,
        strength=180.0,
        sigma=300.0,
        diffusion=6.0,
        dials=Disorder(
            delay=90 * SECOND, drop=0.01, duplicate=0.02, late=0.005, silent=0.04, silence=15 * MINUTE
        ),
    )


def slices(field: MovingPlume) -> Iterator[pl.DataFrame]:
    """The readings in the order they arrive, so many at a time as come in a step; without end, one stretch after another."""
    stretch = field
    while True:
        frame = stretch.frame()
        size = max(1, round(frame.height * STEP / stretch.duration))
        yield from frame.iter_slices(size)
        stretch = replace(stretch, start=stretch.start + stretch.duration, seed=stretch.seed + 1)
