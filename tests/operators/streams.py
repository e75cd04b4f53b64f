"""Random streams in rounds, and how the window operators are driven by them: shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

from nilometer.operators.frames import stream_dtypes
from nilometer.operators.logic import Logic, Output, Progress, Spec
from nilometer.types import FLOAT, INT, STRING, Column, Schema, ceil_to

fewer = settings(max_examples=settings.default.max_examples // 4)
"""For properties of whole operators: their examples are costly."""

SCHEMA = Schema((Column("i", INT), Column("f", FLOAT), Column("s", STRING)))
DTYPES = stream_dtypes(SCHEMA)


@dataclass(frozen=True)
class Row:
    """A tuple: its tags, then i, f and s."""

    tick: int
    time: int
    id: int | None
    position: int | None
    i: int | None
    f: float | None
    s: str | None

    @property
    def values(self) -> tuple[Any, ...]:
        return (self.i, self.f, self.s)

    @property
    def tuple(self) -> tuple[Any, ...]:
        return (self.tick, self.time, self.id, self.position, *self.values)


@dataclass(frozen=True)
class Round:
    """What comes in a round, and how far event time is after it."""

    rows: tuple[Row, ...]
    watermark: int


@dataclass(frozen=True)
class Log:
    """The rounds of a stream; `first_tick` is that of the first tuple."""

    rounds: tuple[Round, ...]

    @property
    def rows(self) -> list[Row]:
        return [row for round_ in self.rounds for row in round_.rows]

    @property
    def first_tick(self) -> int | None:
        return self.rows[0].tick if self.rows else None

    @property
    def watermark(self) -> int:
        return self.rounds[-1].watermark


@st.composite
def logs(
    draw: st.DrawFn,
    interval: int | None = None,
    integers: st.SearchStrategy[int] | None = None,
    unplaced: bool = False,
) -> Log:
    """Disordered streams with ties and NULLs; no row comes below the watermark of an earlier round."""
    whole = st.integers(-3, 3) if integers is None else integers
    delay = draw(st.integers(0, 12))
    last = draw(st.integers(-20, 20))
    high = None
    watermark = -100
    rounds = []
    position = 0
    for size in draw(st.lists(st.integers(0, 6), min_size=1, max_size=6)):
        rows = []
        for _ in range(size):
            time = last + draw(st.integers(-6, 9))
            tick = time if interval is None else time // interval * interval
            last = max(last, time)
            if tick < watermark:
                continue
            high = tick if high is None else max(high, tick)
            rows.append(
                Row(
                    tick,
                    time,
                    draw(st.one_of(st.integers(1, 3), st.none())),
                    None if unplaced else position,
                    draw(st.one_of(whole, whole, st.none())),
                    draw(st.one_of(st.integers(-640, 640).map(lambda n: n / 64), st.none())),
                    draw(st.sampled_from(["a", "b", None])),
                )
            )
            position += 1
        if high is not None:
            watermark = max(watermark, high - delay)
        rounds.append(Round(tuple(rows), watermark))
    rounds.append(Round((), watermark + draw(st.integers(0, 40))))
    return Log(tuple(rounds))


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame([row.tuple for row in rows], schema=DTYPES, orient="row")


def drive(spec: Spec, log: Log, *, restart: bool = False) -> list[Output]:
    """Run a stream operator; with `restart` every round begins with a fresh Logic restored from a snapshot."""
    logic: Logic = spec.build()
    first_tick = None
    outputs = []
    for round_ in log.rounds:
        if first_tick is None and round_.rows:
            first_tick = round_.rows[0].tick
        if round_.rows:
            logic.update(0, frame(round_.rows))
        if restart:
            panes = logic.snapshot()
            logic = spec.build()
            logic.restore(panes)
            assert logic.snapshot() == panes
        outputs.append(logic.advance(Progress(round_.watermark, first_tick)))
    return outputs


def one_round(log: Log) -> Log:
    return Log((Round(tuple(log.rows), log.watermark),))


def one_by_one(log: Log) -> Log:
    rounds = []
    before = -100
    for round_ in log.rounds:
        rounds += [Round((row,), before) for row in round_.rows]
        rounds.append(Round((), round_.watermark))
        before = round_.watermark
    return Log(tuple(rounds))


def ways(log: Log) -> list[tuple[Log, bool]]:
    """How to bring a log to an operator: as it is, and one other way (restarts, all at once, one by one), by turns."""
    others = [(log, True), (one_round(log), False), (one_by_one(log), False)]
    return [(log, False), others[(len(log.rows) + log.watermark) % len(others)]]


def evaluations(outputs: Sequence[Output]) -> list[tuple[int, int]]:
    return [row for output in outputs for row in output.evaluations.rows()]


def rows(outputs: Sequence[Output]) -> list[tuple[Any, ...]]:
    assert len({tuple(output.rows.schema.items()) for output in outputs}) == 1
    return sorted((row for output in outputs for row in output.rows.rows()), key=order)


def order(row: Sequence[Any]) -> tuple[Any, ...]:
    """Any two rows can be compared: NULLs first."""
    return tuple((value is not None, value) for value in row)


@dataclass(frozen=True)
class Range:
    """A window's parameters."""

    start: int | None
    end: int
    slide: int | None
    open_start: bool
    interval: int | None = None

    def ticks(self, log: Log) -> list[int]:
        """The naive list of evaluations."""
        step = self.slide or self.interval
        if step is None:
            return sorted({row.tick for row in log.rows if row.tick < log.watermark})
        if log.first_tick is None:
            return []
        return list(range(ceil_to(log.first_tick, step), log.watermark, step))

    def content(self, log: Log, tick: int) -> list[Row]:
        """The naive window at a tick."""
        return [row for row in log.rows if row.tick <= tick - self.end and self._began(row.tick, tick)]

    def _began(self, tick: int, now: int) -> bool:
        if self.start is None:
            return True
        return tick > now - self.start if self.open_start else tick >= now - self.start


@st.composite
def ranges(draw: st.DrawFn, interval: int | None = None) -> Range:
    """Any FROM/TO/SLIDE: AT the past, empty, gaps, UNBOUNDED, ranges that are no multiple of the slide."""
    end = draw(st.one_of(st.just(0), st.integers(0, 15)))
    length = draw(st.one_of(st.none(), st.integers(0, 25), st.integers(0, 25)))
    slide = draw(st.one_of(st.none(), st.integers(1, 12), st.integers(1, 12)))
    start = None if length is None else end + length
    return Range(start, end, slide, draw(st.booleans()), interval)
