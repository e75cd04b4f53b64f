"""SUBSEQUENCES: occurrences -> windows of (sequence, length, sources, count, first, last), those with enough support.

The state is the occurrences in the window: at most slots x forms of each source, where a form is a length and a way to
leave slots out. `first` and `last` are the ends of the first and of the last occurrence. APPROXIMATE forgets the rare ones of
each pane at the first evaluation after it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions.subsequences import (
    ALL,
    NUMBER,
    PERCENT,
    SUPPORT,
    forgotten,
    pane_of,
)
from nilometer.mining.slot_windows import SlotWindows, output_of
from nilometer.operators import frames
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import ID, TICK, Output, Progress
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import INT_MINIMUM, Schema

_SOURCE, _TEXT, _LENGTH, _BEGIN, _END = "@id", "@text", "@length", "@begin", "@end"


@dataclass(frozen=True)
class Subsequences:
    """The subsequences that many sources have."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        frame = self.call.window
        require(isinstance(frame, Frame) and frame.start is not None, "SUBSEQUENCES without a window")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> SubsequencesLogic:
        return SubsequencesLogic(self)


class SubsequencesLogic:
    """The occurrences in the window."""

    def __init__(self, spec: Subsequences) -> None:
        call, frame, every = spec.call, spec.call.window, spec.call["EVERY"]
        assert isinstance(frame, Frame)
        assert isinstance(every, int)
        self._call, self._every = call, every
        self._windows = SlotWindows(frame, every)
        alias = call.alias
        self._columns = {f"{alias}.{name}": own for name, own in
                         (("sequence", _TEXT), ("length", _LENGTH), ("begin", _BEGIN), ("end", _END))}  # fmt: skip
        dtypes: frames.Dtypes = {TICK: pl.Int64(), ID: frames.dtype(call.id_type.plain)}
        dtypes |= {_TEXT: pl.String(), _LENGTH: pl.Int64(), _BEGIN: pl.Int64(), _END: pl.Int64()}
        self._waiting = Waiting(dtypes)
        self._held = frames.empty(dtypes)
        self._saved = frames.Saved()
        self._pane, self._rare = pane_of(call), forgotten(call)
        self._swept = INT_MINIMUM
        """The pane that comes after those whose rare subsequences are forgotten."""
        self._names = spec.schema.names
        self._output = frames.window_dtypes(spec.schema)
        self._nothing = frames.empty(self._output).select(self._names)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows.rename(self._columns))

    @operator("SUBSEQUENCES")
    def advance(self, progress: Progress) -> Output:
        parts = []
        for tick, first, end in self._windows.due(progress):
            if not self._held.height and not len(self._waiting):
                parts.append((tick, self._nothing))
                continue
            new = self._waiting.release(tick + 1)
            held = pl.concat([self._held, new]) if new.height else self._held
            self._held = held.filter(pl.col(_BEGIN) >= first) if held.height else held
            if self._rare:
                self._sweep(end // self._pane)
            check_kept(5 * self._held.height)
            parts.append((tick, self._rows()))
        return output_of(parts, self._output)

    def _sweep(self, upto: int) -> None:
        """Forget the subsequences that few sources have in a pane, for the panes before `upto`."""
        pane = pl.col(_END) // self._pane
        few = pl.col(ID).n_unique().over(_TEXT, _LENGTH, pane) <= self._rare
        over = pane.is_between(self._swept, upto - 1)
        self._held = self._held.filter(pl.col(_TEXT).is_null() | ~over | ~few)
        self._swept = max(self._swept, upto)

    def _rows(self) -> pl.DataFrame:
        heard = self._held.filter(pl.col(_TEXT).is_null())[ID].n_unique()
        sequence, length, sources, count, first, last = self._names
        missing = self._call["APPROXIMATE"]
        most = pl.col(sources) + (missing if isinstance(missing, int) else 0)
        match self._call[SUPPORT], self._call[NUMBER], self._call[PERCENT]:
            case "SUPPORT", int(number), _:
                enough = most >= number
            case "SUPPORT PERCENT", _, float(percent):
                enough = 100 * most >= percent * heard
            case _:
                assert self._call[SUPPORT] == ALL
                enough = most >= heard
        grouped = (
            self._held.filter(pl.col(_TEXT).is_not_null())
            .group_by(_TEXT, _LENGTH)
            .agg(
                pl.col(ID).n_unique().cast(pl.Int64).alias(sources),
                pl.len().cast(pl.Int64).alias(count),
                ((pl.col(_END).min() + 1) * self._every).alias(first),
                ((pl.col(_END).max() + 1) * self._every).alias(last),
            )
        )
        return grouped.rename({_TEXT: sequence, _LENGTH: length}).filter(enough).sort(length, sequence)

    def snapshot(self) -> dict[str, bytes]:
        meta = {"meta": json.dumps({"since": self._windows.since, "swept": self._swept}).encode()}
        return self._waiting.snapshot("waiting") | {"held": self._saved(self._held)} | meta

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._held = self._saved.load(panes["held"])
        meta = json.loads(panes["meta"])
        self._windows.since, self._swept = meta["since"], meta.get("swept", INT_MINIMUM)
