"""SUBSEQUENCES_OCCUR: a stream -> where each source's subsequences begin and end, at the evaluation that sees them first.

Rows without a sequence say that the source has a reading in the slot. The state is the symbols of each source in the last
slots, as many as the longest subsequence spans:  bytes <= sources x 4 ((b - 1) (g + 1) + 1)
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.mining.sequences import Block, Sequences
from nilometer.mining.slot_windows import SlotWindows
from nilometer.mining.symbols import Symbols
from nilometer.operators import frames
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.validation import require
from nilometer.types import Schema


@dataclass(frozen=True)
class Occurrences:
    """The occurrences of subsequences of a column's symbols."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        frame = self.call.window
        require(isinstance(frame, Frame) and frame.start is not None, "SUBSEQUENCES without a window")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> OccurrencesLogic:
        return OccurrencesLogic(self)


def _forms(call: FunctionCall) -> list[tuple[int, ...]]:
    """The places of the symbols, counted back from the last one, for every length and all ways to leave slots out."""
    lengths, gaps = call["LENGTH"], call["GAPS"]
    assert isinstance(lengths, tuple)
    assert isinstance(gaps, int)
    low, high = lengths
    assert isinstance(low, int)
    assert isinstance(high, int)
    steps = [
        taken
        for length in range(low, high + 1)
        for taken in itertools.product(range(1, gaps + 2), repeat=length - 1)
    ]
    return [tuple(reversed((0, *itertools.accumulate(taken)))) for taken in steps]


class OccurrencesLogic:
    """The symbols of the last slots."""

    def __init__(self, spec: Occurrences) -> None:
        call, frame = spec.call, spec.call.window
        assert isinstance(frame, Frame)
        self._forms = _forms(call)
        self._span = max(form[0] for form in self._forms) + 1
        self._symbols = Symbols(call, spec.input)
        self._sequences = Sequences(call, spec.input, self._symbols)
        self._windows = SlotWindows(frame, self._sequences.every)
        self._names = spec.schema.names
        self._output = frames.stream_dtypes(spec.schema, call.id_type.plain)
        self._last = np.full((self._span - 1, 0), -1, dtype=np.int32)
        self._end = 0

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._sequences.add(rows)

    @operator("SUBSEQUENCES")
    def advance(self, progress: Progress) -> Output:
        parts = []
        for tick, first, end in self._windows.due(progress):
            if self._sequences.nothing_from(first):
                continue
            for block in self._sequences.take(end, self._span):
                parts += [rows.with_columns(pl.lit(tick).alias(TICK)) for rows in self._found(block)]
        self._forget()
        if not parts:
            return Output(frames.empty(self._output), no_evaluations())
        id_, sequence, _, begin, _ = self._names
        rows = pl.concat(parts).sort(TICK, id_, begin, sequence)
        nowhere = pl.lit(None, dtype=pl.Int64).alias(POSITION)
        tagged = rows.with_columns(pl.col(TICK).alias(TIME), pl.col(id_).alias(ID), nowhere)
        return Output(frames.conform(tagged, self._output), no_evaluations())

    def _found(self, block: Block) -> list[pl.DataFrame]:
        sources = block.cells.shape[1]
        before = np.full((self._span - 1, sources), -1, dtype=np.int32)
        if block.first == self._end:
            before[:, : self._last.shape[1]] = self._last
        cells = np.vstack([before, block.cells])
        runs = _runs(cells)
        self._last, self._end = cells[len(cells) - self._span + 1 :], block.end
        first = self._span - 1
        places, owners = np.nonzero(block.cells >= 0)
        found = [self._rows(block, cells, places, owners, None)]
        for form in self._forms:
            check_built(block.cells.size * len(self._forms), 5)
            places, owners = np.nonzero(runs[first:] > form[0])
            found.append(self._rows(block, cells, places, owners, form))
        return [rows for rows in found if rows.height]

    def _rows(
        self,
        block: Block,
        cells: np.ndarray,
        places: np.ndarray,
        owners: np.ndarray,
        form: tuple[int, ...] | None,
    ) -> pl.DataFrame:
        ends = places + block.first
        id_, sequence, length, begin, end = self._names
        text: pl.Series | pl.Expr = pl.lit(None, dtype=pl.String)
        if form is not None and len(places):
            at = places + self._span - 1
            texts = self._symbols.texts
            letters = pl.DataFrame(
                [
                    texts.gather(pl.Series(cells[at - back, owners])).alias(str(n))
                    for n, back in enumerate(form)
                ]
            )
            long = pl.any_horizontal(pl.all().str.len_chars() > 1)
            together, apart = pl.concat_str(pl.all()), pl.concat_str(pl.all(), separator=" ")
            text = letters.select(pl.when(long).then(apart).otherwise(together).alias("@text")).to_series()
        ids = self._sequences.sources.ids.gather(pl.Series(owners.astype(np.int64)))
        return (
            ids.alias(id_)
            .to_frame()
            .with_columns(
                text.alias(sequence),
                pl.lit(None if form is None else len(form), dtype=pl.Int64).alias(length),
                pl.Series(begin, ends - (0 if form is None else form[0])).cast(pl.Int64),
                pl.Series(end, ends).cast(pl.Int64),
            )
        )

    def _forget(self) -> None:
        alive = self._sequences.last_slots >= self._end - self._span - self._sequences.fill
        if self._last.shape[1] == len(alive) and self._sequences.sources.worth_forgetting(alive):
            self._sequences.keep(alive)
            self._last = self._last[:, alive]

    def snapshot(self) -> dict[str, bytes]:
        meta = {"since": self._windows.since, "end": self._end}
        last = pl.DataFrame({"cells": np.ascontiguousarray(self._last).ravel()}, schema={"cells": pl.Int32})
        return self._sequences.snapshot() | {"meta": json.dumps(meta).encode(), "last": frames.to_bytes(last)}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._sequences.restore(panes)
        meta = json.loads(panes["meta"])
        self._windows.since, self._end = meta["since"], meta["end"]
        cells = frames.from_bytes(panes["last"])["cells"].to_numpy()
        rows = self._span - 1
        self._last = cells.reshape(rows, len(cells) // rows if rows else 0).astype(np.int32)


def _runs(cells: np.ndarray) -> np.ndarray:
    """How many slots up to each one have a symbol without a gap between."""
    places = np.arange(len(cells))[:, None]
    gaps = np.where(cells < 0, places, -1)
    return np.asarray(places - np.maximum.accumulate(gaps, axis=0))
