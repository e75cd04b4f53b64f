"""Inputs of operators, and how a shell feeds them: rows in order of arrival -> rounds -> what a Logic gave.

A `Timeline` is everything that will ever arrive at an operator's ports. `rounds` cuts it into rounds of a given size
and gives each the highest watermark that no later row contradicts, as the shells do; `run` feeds them to a Logic.
Streams come with disorder, NULLs, equal times and tuples without a source; windows with empty evaluations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from nilometer.operators import frames
from nilometer.operators.logic import (
    EVALUATION,
    EVALUATIONS_SCHEMA,
    ID,
    POSITION,
    TICK,
    TIME,
    Logic,
    Output,
    Progress,
    no_evaluations,
)
from nilometer.types import INT, Kind, Schema, Type

STREAM, WINDOWS, TABLE = "STREAM", "WINDOWS", "TABLE"

FAR = 10_000
"""How far beyond its last row the end of a timeline lies: further than any window reaches. Some slide by two ticks."""


@dataclass(frozen=True)
class Input:
    """One port: what comes in. `every` is the acquisition interval of a sensed stream."""

    collection: str
    schema: Schema
    id_type: Type = INT
    every: int | None = None
    sources: int = 4


@dataclass(frozen=True)
class Port:
    """All rows of one port, in order of arrival, and (of windows) all evaluations."""

    collection: str
    rows: pl.DataFrame
    evaluations: pl.DataFrame = field(default_factory=no_evaluations)

    @property
    def _paced(self) -> pl.DataFrame:
        """What decides how far time has come."""
        return {STREAM: self.rows, WINDOWS: self.evaluations, TABLE: self.rows.clear()}[self.collection]

    @property
    def length(self) -> int:
        """How many rows or evaluations rounds are cut from."""
        return self._paced.height

    @property
    def last_tick(self) -> int:
        """The greatest tick."""
        return int(self._paced[TICK].max() or 0) if self.length else 0  # type: ignore[arg-type]

    @property
    def first_ticks(self) -> list[int]:
        """The tick of the first tuple, if there is one."""
        return self.rows[TICK].head(1).to_list() if self.collection == STREAM else []

    def marks_from(self, number: int) -> list[int]:
        """The highest watermark that nothing from there on contradicts, if there is anything."""
        rest = self._paced.slice(number)
        return [int(rest[TICK].min())] if rest.height else []  # type: ignore[arg-type]

    def arriving(self, step: int, size: int, before: int | None, watermark: int) -> pl.DataFrame | None:
        """The rows that a round brings."""
        if self.collection == TABLE:
            return self.rows if step == 0 else None
        if self.collection == WINDOWS:
            return _between(self.rows, before, watermark)
        return self.rows.slice(step * size, size)


@dataclass(frozen=True)
class Round:
    """What a shell does in one round."""

    updates: tuple[tuple[int, pl.DataFrame], ...]
    progress: Progress


Timeline = tuple[Port, ...]


def column(generator: np.random.Generator, type_: Type, count: int) -> pl.Series:
    """Random values of a type from a small domain, a tenth of them NULL; floats are multiples of 1/64."""
    numbers = generator.integers(0, 6, count)
    values: list[Any]
    match type_.kind:
        case Kind.FLOAT:
            values = (numbers / 64).tolist()
        case Kind.STRING:
            values = [f"text {number}" for number in numbers]
        case Kind.BOOLEAN:
            values = (numbers > 2).tolist()
        case Kind.POINT:
            values = [{"x": float(number), "y": number / 2} for number in numbers]
        case _:
            values = numbers.tolist()
    null = generator.random(count) < 0.1
    return pl.Series(
        [None if no else value for no, value in zip(null, values, strict=True)], dtype=frames.dtype(type_)
    )


def generate(inputs: Sequence[Input], count: int, seed: int, disorder: int = 5) -> Timeline:
    """A timeline of `count` rows a port (a table: at most 20); time goes on by about one a row."""
    generator = np.random.default_rng(seed)
    makers = {STREAM: _stream, WINDOWS: _windows, TABLE: _table}
    return tuple(makers[port.collection](port, count, generator, disorder) for port in inputs)


def _values(port: Input, count: int, generator: np.random.Generator) -> dict[str, pl.Series]:
    return {one.name: column(generator, one.type, count) for one in port.schema}


def _table(port: Input, count: int, generator: np.random.Generator, disorder: int) -> Port:
    height = min(count, 20)
    return Port(TABLE, pl.DataFrame(_values(port, height, generator) or None, height=height))


def _windows(port: Input, count: int, generator: np.random.Generator, disorder: int) -> Port:
    """Evaluations of three rows on average, some empty, some at the tick of the one before (as row windows have them)."""
    evaluations = -(-count // 3)
    ticks = np.cumsum(generator.integers(0, 6, evaluations))
    listed = pl.DataFrame({EVALUATION: np.arange(evaluations), TICK: ticks}, schema=EVALUATIONS_SCHEMA)
    at = np.sort(generator.integers(0, max(evaluations, 1), count))
    system = {EVALUATION: pl.Series(at, dtype=pl.Int64), TICK: pl.Series(ticks[at], dtype=pl.Int64)}
    return Port(WINDOWS, pl.DataFrame(system | _values(port, count, generator)), listed)


def _stream(port: Input, count: int, generator: np.random.Generator, disorder: int) -> Port:
    """Tuples out of order by up to `disorder`, several at a time, some without a source."""
    time = np.maximum(np.arange(count) - generator.integers(0, disorder + 1, count), 0)
    numbers = generator.integers(0, port.sources + 1, count).tolist()
    text = port.id_type.kind is Kind.STRING
    system = {
        TICK: pl.Series(time if port.every is None else time // port.every * port.every, dtype=pl.Int64),
        TIME: pl.Series(time, dtype=pl.Int64),
        ID: pl.Series(
            [(f"source {number}" if text else number) if number else None for number in numbers],
            dtype=frames.dtype(port.id_type),
        ),
        POSITION: pl.Series(range(count), dtype=pl.Int64),
    }
    return Port(STREAM, pl.DataFrame(system | _values(port, count, generator)))


def rounds(timeline: Timeline, size: int, end: int | None = None) -> list[Round]:
    """Rounds of `size` rows a stream, or evaluations of windows, and a last one in which time comes to `end`."""
    lengths = [port.length for port in timeline]
    last = end if end is not None else max((port.last_tick for port in timeline), default=0) + FAR
    steps = -(-max(lengths, default=0) // size)
    marks = [
        min([last, *(mark for port in timeline for mark in port.marks_from((s + 1) * size))])
        for s in range(steps)
    ]
    first = min((tick for port in timeline for tick in port.first_ticks), default=None)
    result = []
    before = None
    for step, watermark in enumerate([*marks, last]):
        updates = [
            (number, rows)
            for number, port in enumerate(timeline)
            if (rows := port.arriving(step, size, before, watermark)) is not None
        ]
        evaluations = tuple(_between(port.evaluations, before, watermark) for port in timeline)
        result.append(Round(tuple(updates), Progress(watermark, first, evaluations)))
        before = watermark
    return result


def _between(rows: pl.DataFrame, before: int | None, watermark: int) -> pl.DataFrame:
    """The rows whose tick is below the watermark, but was not below the one before."""
    passed = rows.filter(pl.col(TICK) < watermark)
    return passed if before is None else passed.filter(pl.col(TICK) >= before)


def run(logic: Logic, sequence: Sequence[Round]) -> Iterator[Output]:
    """Feed rounds to a Logic, as a shell does."""
    for one in sequence:
        for port, rows in one.updates:
            logic.update(port, rows)
        yield logic.advance(one.progress)


def bag(outputs: Sequence[Output]) -> list[str]:
    """All rows of all rounds, as a sorted multiset."""
    return sorted(repr(row) for output in outputs for row in output.rows.rows())


def evaluations_of(outputs: Sequence[Output]) -> list[tuple[int, int]]:
    """All evaluations of all rounds, in order."""
    return [row for output in outputs for row in output.evaluations.rows()]


def state_size(logic: Logic) -> int:
    """The bytes of a Logic's whole state."""
    return sum(map(len, logic.snapshot().values()))
