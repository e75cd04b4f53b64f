"""The stages of a running dataflow: readers of streams and tables, and operators.

A stage takes the outputs of the stages below it once a round and gives its own output. An operator is a stage
around a Logic (operators/logic.py). Operations without state (select, project, rename) are not stages: each
is a transform, fused behind the stage whose rows it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Protocol, runtime_checkable

import polars as pl

from nilometer.algebra.summary import READINGS
from nilometer.dataflow.meter import Meter
from nilometer.operators.logic import Logic, Output, Progress, no_evaluations
from nilometer.operators.set_aside import derived
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

Transform = Callable[[pl.DataFrame], pl.DataFrame]


def pick(rows: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Select the columns on the right and give them the names on the left. A lazy plan would cost more than
    the work itself."""
    if not names:
        return pl.DataFrame(height=rows.height)
    return pl.DataFrame([rows.get_column(found).alias(name) for name, found in names.items()])


@dataclass(frozen=True)
class Round:
    """The input of one round.

    `admitted` holds the accepted tuples of the streams that moved, by lower-case name. `watermark` is the
    query's watermark, `first_ticks` each stream's first tick. `first` is True in the first round. `tables`
    are stored extents that were read again, by lower-case name; they apply from the tick `holds_from` on.
    `summaries` are the accepted summaries of the streams that have any. `ticks` are those of all tuples of a stream, where
    only a share of the tuples is admitted and a window is evaluated at the ticks of all.
    """

    admitted: Mapping[str, pl.DataFrame]
    watermark: int
    first_ticks: Mapping[str, int]
    first: bool
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    holds_from: int = INT_MINIMUM
    summaries: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    ticks: Mapping[str, pl.DataFrame] = field(default_factory=dict)


class Worker(Protocol):
    """The work of a stage in a round."""

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:
        """Turn the inputs into the output."""

    def snapshot(self) -> dict[str, bytes]:
        """The whole state, as panes."""

    def restore(self, panes: dict[str, bytes]) -> None:
        """Restore what `snapshot` returned."""


@dataclass
class Stage:
    """A worker, the places of its inputs, the streams below it, and the transforms fused behind it. `meters` count
    the work of the worker (0) and of each transform (1, 2, ...), for EXPLAIN ANALYZE."""

    name: str
    worker: Worker
    inputs: tuple[int, ...]
    streams: frozenset[str]
    transforms: list[Transform] = field(default_factory=list)
    meters: list[Meter] = field(default_factory=lambda: [Meter()])

    def step(self, outputs: Mapping[int, Output], now: Round) -> Output:
        """Compute the stage's output from the outputs of the stages below. It never waits."""
        first_tick = min(
            (now.first_ticks[name] for name in self.streams if name in now.first_ticks), default=None
        )
        inputs = [outputs[place] for place in self.inputs]
        began = perf_counter_ns()
        output = self.worker.step(inputs, now, first_tick)
        rows = output.rows
        given = sum(one.rows.height for one in inputs) if inputs else _read(self.streams, now)
        began = self.meters[0].note(given, rows.height, began)
        # Behind a reader of a stream rows are readings; behind an operator they are its own.
        with derived() if isinstance(self.worker, Operator) else nullcontext():
            for transform, meter in zip(self.transforms, self._meters_of_transforms(), strict=True):
                given = rows.height
                rows = transform(rows)
                began = meter.note(given, rows.height, began)
        return output if rows is output.rows else Output(rows, output.evaluations)

    def _meters_of_transforms(self) -> list[Meter]:
        while len(self.meters) <= len(self.transforms):
            self.meters.append(Meter())
        return self.meters[1:]


def _read(streams: frozenset[str], now: Round) -> int:
    """The number of tuples that a leaf is given in a round."""
    return sum(now.admitted[stream].height for stream in streams if stream in now.admitted)


class StreamReader:
    """A leaf: the tuples of a stream that came in this round, in the columns that the plan wants."""

    def __init__(self, stream: str, empty: pl.DataFrame, prepare: Transform) -> None:
        self._stream = stream
        self._empty = empty
        self._prepare = prepare

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        rows = now.admitted.get(self._stream)
        ticks = now.ticks.get(self._stream) if now.ticks else None
        return Output(
            self._empty if rows is None else self._prepare(rows), no_evaluations() if ticks is None else ticks
        )

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        pass


class SummaryReader:
    """A leaf: the summaries of a stream that came in this round and that its aggregate can take. `taken` counts the
    readings that they stand for in this round."""

    def __init__(self, stream: str, empty: pl.DataFrame, prepare: Transform) -> None:
        self._stream = stream
        self._empty = empty
        self._prepare = prepare
        self.taken = 0

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        found = now.summaries.get(self._stream)
        rows = self._empty if found is None else self._prepare(found)
        self.taken = int(rows.get_column(READINGS).sum()) if rows.height else 0
        return Output(rows, no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        pass


class TableReader:
    """A leaf: the rows of a table, in the columns that the plan wants.

    It gives rows in the first round and in each round that brings a new version of the table. The table is
    pulled: `read` is called in the first round, not before.
    """

    def __init__(
        self, table: str, empty: pl.DataFrame, read: Callable[[], pl.DataFrame], prepare: Transform
    ) -> None:
        self._table = table
        self._empty = empty
        self._read = read
        self._prepare = prepare

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        rows = self._read() if now.first else now.tables.get(self._table)
        return Output(self._empty if rows is None else self._prepare(rows), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        pass


class Passing:
    """Passes its input on. The transforms fused behind it do the work."""

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        return inputs[0]

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        pass


class Operator:
    """Runs a Logic as a stage.

    `tables` names, for each input port that gets a table, the extents that the table is made of. Such a port
    gets its rows in the first round and in each round with a new version of one of the extents, even if there
    are no rows.
    """

    def __init__(self, logic: Logic, tables: Mapping[int, frozenset[str]] | None = None) -> None:
        self.logic = logic
        self._tables = tables or {}

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:
        for port, given in enumerate(inputs):
            if given.rows.height or self._given_anew(port, now):
                self.logic.update(port, given.rows)
        evaluations = tuple(given.evaluations for given in inputs)
        with derived():
            return self.logic.advance(Progress(now.watermark, first_tick, evaluations, now.holds_from))

    def _given_anew(self, port: int, now: Round) -> bool:
        extents = self._tables.get(port)
        return extents is not None and (now.first or not extents.isdisjoint(now.tables))

    def snapshot(self) -> dict[str, bytes]:
        return self.logic.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        self.logic.restore(panes)


def rows_at_once(worker: Worker) -> int:
    """The most rows that a worker wants in a round; any number if it does not say.

    A Logic whose answer of a round may be very much larger than its input has a property `round_rows`. So a query that
    is behind is not refused for what it would answer in many small rounds.
    """
    wanted: int = (
        getattr(worker.logic, "round_rows", INT_MAXIMUM) if isinstance(worker, Operator) else INT_MAXIMUM
    )
    return wanted


@runtime_checkable
class Sheds(Protocol):
    """A Logic whose memory is bounded and that sheds tuples to stay within the bound."""

    @property
    def shed_by_port(self) -> tuple[int, ...]:
        """The number of tuples shed, for each input."""


def shed_by(worker: Worker) -> tuple[int, ...]:
    """The number of tuples that a worker has shed because its memory is bounded, for each input."""
    if isinstance(worker, Operator) and isinstance(worker.logic, Sheds):
        return worker.logic.shed_by_port
    return ()
