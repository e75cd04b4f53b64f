"""PH_TOTALS: a stream -> candidates as PH_CANDIDATES gives them, and how all readings of each source stand.

Rows without a class say the latter: n, sum, least and greatest of the source's readings in the window, whatever their
class; n = 0: there are none any more; n = NULL: the source is elsewhere. So these are candidates of the widest likeness
(BETWEEN any two numbers, STRENGTH 1), and the same operator finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions.phenomena import BETWEEN, SHARE
from nilometer.operators import frames
from nilometer.operators.logic import Output, Progress, no_evaluations
from nilometer.phenomena.candidates import Candidates
from nilometer.types import Schema


@dataclass(frozen=True)
class Totals:
    """The candidates of a call of SUMMARY, and the totals of all sources."""

    call: FunctionCall
    input: Schema

    @property
    def own(self) -> Candidates:
        """The candidates of the definition."""
        return Candidates(self.call, self.input)

    @property
    def all(self) -> Candidates:
        """Every source with a reading, and where every source is."""
        likeness = str(self.call["LIKENESS"])
        left_out = ("LIKENESS", likeness, "STRENGTH", SHARE.word)
        kept = [each for each in self.call.options if each[0] not in left_out]
        every = (("LIKENESS", BETWEEN), (BETWEEN, (-inf, inf)), ("STRENGTH", 1))
        return Candidates(replace(self.call, options=(*every, *kept)), self.input, places=True)

    @property
    def schema(self) -> Schema:
        """That of the candidates."""
        return self.own.schema

    def build(self) -> TotalsLogic:
        return TotalsLogic(self)


class TotalsLogic:
    """Both, side by side."""

    def __init__(self, spec: Totals) -> None:
        self._own, self._all = spec.own.build(), spec.all.build()
        self._output = frames.stream_dtypes(spec.schema, spec.call.id_type.plain)
        self._value = f"{spec.call.alias}.value"

    def update(self, port: int, rows: pl.DataFrame) -> None:
        self._own.update(port, rows)
        self._all.update(port, rows)

    def advance(self, progress: Progress) -> Output:
        own, every = self._own.advance(progress).rows, self._all.advance(progress).rows
        nothing = pl.lit(None, dtype=self._output[self._value]).alias(self._value)
        return Output(
            pl.concat([own, frames.conform(every.with_columns(nothing), self._output)]), no_evaluations()
        )

    def snapshot(self) -> dict[str, bytes]:
        own = {f"own {name}": data for name, data in self._own.snapshot().items()}
        return own | {f"all {name}": data for name, data in self._all.snapshot().items()}

    def restore(self, panes: dict[str, bytes]) -> None:
        for prefix, logic in (("own ", self._own), ("all ", self._all)):
            logic.restore({name[4:]: data for name, data in panes.items() if name.startswith(prefix)})
