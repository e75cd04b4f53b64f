"""Values of a column -> codes 0, 1, ... of symbols, and back.

LEVELS and BREAKS are computed; VALUES are numbered as they come, at most MOST_SYMBOLS of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions import sequences as words
from nilometer.errors import ResourceError
from nilometer.operators import frames
from nilometer.types import Kind, Schema

Codes = npt.NDArray[np.int32]


class Symbols:
    """The symbols of a call's column."""

    def __init__(self, call: FunctionCall, input: Schema) -> None:
        self._call = call
        self._type = words.symbol_type(call, input)
        self._float = input[call.columns[0]].type.kind is Kind.FLOAT
        self._known = pl.Series("@symbol", [], dtype=frames.dtype(self._type))
        match call[words.SYMBOLS], call[words.LEVELS], call[words.BREAKS]:
            case "LEVELS", (int(count), float(), float()), _:
                self._known = pl.Series("@symbol", range(count), dtype=pl.Int64)
            case "BREAKS", _, tuple(breaks):
                self._known = pl.Series("@symbol", range(len(breaks) + 1), dtype=pl.Int64)

    def __len__(self) -> int:
        """How many symbols there are so far."""
        return len(self._known)

    def readings(self, column: pl.Expr) -> pl.Expr:
        """Whether a value is a reading."""
        return column.is_not_null() & column.is_finite() if self._float else column.is_not_null()

    def encode(self, values: pl.Series) -> Codes:
        """The code of each value; there are no NULLs."""
        match self._call[words.SYMBOLS], self._call[words.LEVELS], self._call[words.BREAKS]:
            case "LEVELS", (int(count), float(low), float(high)), _:
                clipped = np.clip(values.cast(pl.Float64).to_numpy(), low, high)
                levels = np.minimum(np.floor((clipped - low) * count / (high - low)), count - 1)
                return np.asarray(levels, dtype=np.int32)
            case "BREAKS", _, tuple(breaks):
                found = np.searchsorted(np.array(breaks), values.cast(pl.Float64).to_numpy(), side="right")
                return found.astype(np.int32)
        known = pl.DataFrame({"@symbol": self._known, "@code": pl.int_range(len(self._known), eager=True)})
        coded = (
            values.alias("@symbol").to_frame().join(known, on="@symbol", how="left", maintain_order="left")
        )
        if coded["@code"].null_count():
            new = coded.filter(pl.col("@code").is_null())["@symbol"].unique(maintain_order=True)
            self._known = pl.concat([self._known, new])
            if len(self._known) > words.MOST_SYMBOLS:
                raise ResourceError(
                    f"{self._call.name} found more than {words.MOST_SYMBOLS:,} different values",
                    detail=f"the column is {self._call.columns[0]}",
                    hint="join them into symbols with LEVELS 8 BETWEEN 15 AND 35 or BREAKS (10, 20.5)",
                )
            return self.encode(values)
        return coded["@code"].to_numpy().astype(np.int32)

    def decode(self, codes: pl.Series) -> pl.Series:
        """The symbols of these codes; NULL stays NULL."""
        return self._known.gather(codes) if len(self._known) else self._known.clear()

    @property
    def texts(self) -> pl.Series:
        """Every symbol as text, by code."""
        return self._known.cast(pl.String)

    def snapshot(self) -> dict[str, bytes]:
        """The numbered values."""
        return {"symbols": frames.to_bytes(self._known.to_frame())}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        self._known = frames.from_bytes(panes["symbols"])["@symbol"]
