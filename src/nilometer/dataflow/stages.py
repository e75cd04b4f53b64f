"""The stages of a running dataflow: readers of streams and tables, and shells around Logics.

A stage takes the outputs of the stages below it, once a round, and gives its own. What needs no memory (select, project,
rename) is no stage: it is a transform, fused behind the stage whose rows it changes, and never waits for event time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import polars as pl

from nilometer.operators.logic import Logic, Output, Progress, no_evaluations
from nilometer.types import INT_MINIMUM

Transform = Callable[[pl.DataFrame], pl.DataFrame]


def pick(rows: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """The columns on the right under the names on the left; without a lazy plan, which costs more than it does here."""
    if not names:
        return pl.DataFrame(height=rows.height)
    return pl.DataFrame([rows.get_column(found).alias(name) for name, found in names.items()])


@dataclass(frozen=True)
class Round:
    """What a round brings: the accepted tuples of each stream (by lower-case name; those that moved), how far event time
    has come, and each stream's first tick. `first` says that nothing came before. `tables` are stored extents that were read
    anew, by lower-case name, and hold from the tick `holds_from` on."""

    admitted: Mapping[str, pl.DataFrame]
    watermark: int
    first_ticks: Mapping[str, int]
    first: bool
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    holds_from: int = INT_MINIMUM


class Worker(Protocol):
    """What a stage does in a round."""

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:
        """Inputs to output."""

    def snapshot(self) -> dict[str, bytes]:
        """The whole state, as panes."""

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""


@dataclass
class Stage:
    """A worker, where its inputs come from, the streams below it, and what is fused behind it."""

    name: str
    worker: Worker
    inputs: tuple[int, ...]
    streams: frozenset[str]
    transforms: list[Transform] = field(default_factory=list)

    def step(self, outputs: Mapping[int, Output], now: Round) -> Output:
        """The stage's output, from those of all stages before it. It never waits."""
        first_tick = min(
            (now.first_ticks[name] for name in self.streams if name in now.first_ticks), default=None
        )
        output = self.worker.step([outputs[place] for place in self.inputs], now, first_tick)
        rows = output.rows
        for transform in self.transforms:
            rows = transform(rows)
        return output if rows is output.rows else Output(rows, output.evaluations)


class StreamReader:
    """A leaf: the tuples of a stream that came in this round, as the plan wants them."""

    def __init__(self, stream: str, empty: pl.DataFrame, prepare: Transform) -> None:
        self._stream = stream
        self._empty = empty
        self._prepare = prepare

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        rows = now.admitted.get(self._stream)
        return Output(self._empty if rows is None else self._prepare(rows), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        pass


class TableReader:
    """A leaf: a table's rows in the first round, and in one that brings its next version, as the plan wants them.

    A table is pulled: `read` is called in the first round, not before.
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
    """Gives its input on: the transforms fused behind it do the work."""

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:  # noqa: ARG002
        return inputs[0]

    def snapshot(self) -> dict[str, bytes]:
        return {}

    def restore(self, panes: dict[str, bytes]) -> None:
        pass


class Operator:
    """A shell around a Logic. `tables` says of the ports that get a table which extents it is made of: its rows come in the first round,
    and in one that brings another version of one of them, then also if there are none."""

    def __init__(self, logic: Logic, tables: Mapping[int, frozenset[str]] | None = None) -> None:
        self.logic = logic
        self._tables = tables or {}

    def step(self, inputs: Sequence[Output], now: Round, first_tick: int | None) -> Output:
        for port, given in enumerate(inputs):
            if given.rows.height or self._given_anew(port, now):
                self.logic.update(port, given.rows)
        evaluations = tuple(given.evaluations for given in inputs)
        return self.logic.advance(Progress(now.watermark, first_tick, evaluations, now.holds_from))

    def _given_anew(self, port: int, now: Round) -> bool:
        extents = self._tables.get(port)
        return extents is not None and (now.first or not extents.isdisjoint(now.tables))

    def snapshot(self) -> dict[str, bytes]:
        return self.logic.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        self.logic.restore(panes)


@runtime_checkable
class Sheds(Protocol):
    """A Logic with a bound on its memory."""

    @property
    def shed_by_port(self) -> tuple[int, ...]:
        """Per input, the tuples given up for want of memory."""


def shed_by(worker: Worker) -> tuple[int, ...]:
    """Per input of a worker, the tuples that it has given up for want of memory."""
    if isinstance(worker, Operator) and isinstance(worker.logic, Sheds):
        return worker.logic.shed_by_port
    return ()
