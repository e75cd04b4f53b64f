"""The contract of every stateful operator: a frozen Spec and a pure Logic (design principle 2).

A `Spec` is a frozen dataclass of validated parameters with `build() -> Logic`. A `Logic` is fed columnar batches and
told how far event time has come; it has no I/O, no clock, no randomness and no Spark. A shell (the gateway, a Spark
stage, a test) calls, in every round,

    logic.update(port, rows)                for each input port that has rows
    output = logic.advance(progress)        once

and passes `output` on. Rows are Polars frames. Besides the columns of the plan's schema they carry system columns:

- of a stream: `@tick`, `@time` (Int64 microseconds), `@id` (Int64 or String, may be null), `@position` (Int64, may be null);
- of windows: `@evaluation` and `@tick` (Int64). An evaluation number is unique in its operator's output and rises with
  time; for time windows and joins it is the tick itself, for row windows the ordinal of the row (several evaluations may
  share a tick). Every evaluation that took place is listed in `Output.evaluations`, also those without a row.

Types in frames: INT Int64, FLOAT Float64, STRING String, BOOLEAN Boolean, TIME and DURATION Int64 microseconds,
POINT Struct{x, y: Float64}, LIST and STRUCT as such. Lateness has been decided: no row of a stream ever comes with
@tick < the watermark of an earlier `advance`. Rows of a stream come in any order within that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import polars as pl

from nilometer.types import INT_MINIMUM

TICK = "@tick"
TIME = "@time"
ID = "@id"
POSITION = "@position"
EVALUATION = "@evaluation"

STREAM_COLUMNS = (TICK, TIME, ID, POSITION)
WINDOW_COLUMNS = (EVALUATION, TICK)

EVALUATIONS_SCHEMA = {EVALUATION: pl.Int64, TICK: pl.Int64}


def no_evaluations() -> pl.DataFrame:
    """An empty list of evaluations."""
    return _no_evaluations().clone()


@cache  # once for all rounds, and not at import: processes are forked before Polars has done anything
def _no_evaluations() -> pl.DataFrame:
    return pl.DataFrame(schema=EVALUATIONS_SCHEMA)


@dataclass(frozen=True)
class Progress:
    """How far a round has come.

    `watermark`: every tick T < watermark is complete and must be evaluated now. `first_tick`: the tick of the first
    tuple, in log order and before any filter, of the extents below (None before there is one): sliding windows are
    evaluated from the first multiple at or after it. `evaluations`: per input port the evaluations that its rows of
    this round belong to (empty frames for tables; for a stream that is divided among buckets, the ticks of the tuples of all
    of them, if its window is evaluated at these). `holds_from`: the tick from which a table that was given
    in this round holds, until a later version of it.
    """

    watermark: int
    first_tick: int | None = None
    evaluations: tuple[pl.DataFrame, ...] = ()
    holds_from: int = INT_MINIMUM


@dataclass(frozen=True)
class Output:
    """The result of a round: rows, and for windows the evaluations that took place, in order."""

    rows: pl.DataFrame
    evaluations: pl.DataFrame


class Logic(Protocol):
    """A running operator. `snapshot` returns its whole state as named panes; `restore` takes them back."""

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of an input."""

    def advance(self, progress: Progress) -> Output:
        """Event time has reached `progress.watermark`: emit complete results and forget rows that are no
        longer needed.
        """

    def snapshot(self) -> dict[str, bytes]:
        """Returns the whole state as panes. A shell writes only those that changed."""

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot, into a fresh Logic of the same Spec."""


class Spec(Protocol):
    """Validated parameters of an operator."""

    def build(self) -> Logic:
        """A fresh Logic."""
