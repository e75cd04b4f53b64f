"""A stream -> blocks of slots x sources: the sequences of all sources, as far as event time has come.

All sources share the slots, since these are counted from 1970. A cell is the last reading of the source in the slot by
(time, position), or a gap; FILL has been applied. Codes of symbols are int32 with gaps of -1, numbers float64 with NaN.

The law: however the rows were cut into batches, `take` gives the same cells. A stretch of more than
`memory` slots in which all is gap may be left out: whoever keeps no more than that forgets everything then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.kernels.arrays import Booleans
from nilometer.kernels.read_only import read_only
from nilometer.kernels.slots import NEVER, fill_block
from nilometer.mining.sources import Sources
from nilometer.mining.symbols import Symbols
from nilometer.operators import frames
from nilometer.operators.logic import ID, POSITION, TIME
from nilometer.operators.order import source_order
from nilometer.operators.waiting import Waiting
from nilometer.types import INT_MINIMUM, Schema

SLOT = "@slot"
CELLS = 4_000_000
"""How many cells a block has at most, unless one slot has more."""


@dataclass(frozen=True)
class Block:
    """Slots `first`, `first + 1`, ... one row each, one column a source."""

    first: int
    cells: npt.NDArray[Any]

    @property
    def end(self) -> int:
        """The slot behind its last."""
        return self.first + len(self.cells)


class Sequences:
    """The readings that wait, and each source's last reading. `symbols` None: the values are numbers."""

    def __init__(self, call: FunctionCall, input: Schema, symbols: Symbols | None) -> None:
        every, fill, column = call["EVERY"], call["FILL"], call.columns[0]
        assert isinstance(every, int)
        self.every, self.fill, self._column = every, fill if isinstance(fill, int) else 0, column
        self._symbols = symbols
        id_dtype = frames.dtype(call.id_type.plain)
        self._dtype = np.dtype(np.float64 if symbols is None else np.int32)
        self._gap = self._dtype.type(np.nan if symbols is None else -1)
        self._columns = {
            SLOT: pl.Int64(),
            TIME: pl.Int64(),
            ID: id_dtype,
            POSITION: pl.Int64(),
            column: frames.dtype(input[column].type),
        }
        self._waiting = Waiting(self._columns, gate=SLOT)
        self._nothing = frames.empty(self._columns)
        self.sources = Sources(id_dtype)
        self._known = np.empty(0, dtype=np.int64)
        self._last: npt.NDArray[Any] = np.empty(0, dtype=self._dtype)
        self.next = INT_MINIMUM
        """The slot that comes next; before the first reading it is far back."""

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows of the stream. Those without an id belong to no source."""
        column = pl.col(self._column)
        if self._symbols is not None:
            known = self._symbols.readings(column)
        else:
            known = column.is_not_null() & column.cast(pl.Float64).is_finite()
        slot = (pl.col(TIME) - 1) // self.every
        self._waiting.add(rows.filter(pl.col(ID).is_not_null() & known).with_columns(slot.alias(SLOT)))

    def take(self, end: int, memory: int) -> Iterator[Block]:
        """The slots before `end` that were not taken yet. At the first reading of all, blocks begin with its slot."""
        if end <= self.next:
            return
        # Slots rise with time, so rows in the order of (time, position) are in the order of slots, too.
        rows = self._nothing
        if len(self._waiting):
            rows = source_order(self._waiting.release(end), [self._column])
        slots = rows[SLOT].to_numpy()
        values = self._values(rows[self._column])
        numbers = self.sources.numbers(rows[ID]) if rows.height else np.empty(0, dtype=np.int64)
        self._grow()
        start = self.next if self.next != INT_MINIMUM else int(slots[0]) if len(slots) else end
        longest = max(CELLS // max(len(self.sources), 1), 1)
        at = 0
        while start < end:
            upcoming = int(slots[at]) if at < len(slots) else end
            filled = max(start, min(int(self._known.max(initial=NEVER)) + self.fill + 1, end))
            if upcoming - filled > memory and filled == start:
                start = upcoming
                continue
            stop = min(start + longest, filled if upcoming - filled > memory else end)
            upto = int(np.searchsorted(slots, stop, side="left"))
            cells = np.full((stop - start, len(self.sources)), self._gap, self._dtype)
            fill_block(
                read_only(slots[at:upto]), read_only(numbers[at:upto]), read_only(values[at:upto]),
                start, self.fill, self._gap, cells, self._known, self._last,
            )  # fmt: skip
            at = upto
            yield Block(start, cells)
            start = stop
        if self.next != INT_MINIMUM or len(slots):
            self.next = end

    def _values(self, column: pl.Series) -> npt.NDArray[Any]:
        if not len(column):
            return np.empty(0, dtype=self._dtype)
        if self._symbols is not None:
            return self._symbols.encode(column)
        return column.cast(pl.Float64).to_numpy()

    def _grow(self) -> None:
        more = len(self.sources) - len(self._known)
        if more:
            self._known = np.append(self._known, np.full(more, NEVER, dtype=np.int64))
            self._last = np.append(self._last, np.zeros(more, dtype=self._dtype))

    def nothing_from(self, slot: int) -> bool:
        """Whether no source has a reading in this slot or later, as far as is known."""
        return int(self._known.max(initial=NEVER)) + self.fill < slot and not len(self._waiting)

    def keep(self, alive: Booleans) -> None:
        """Forget the sources that are not alive."""
        self.sources.keep(alive)
        self._known, self._last = self._known[alive], self._last[alive]

    @property
    def last_slots(self) -> npt.NDArray[np.int64]:
        """The slot of each source's last reading."""
        return self._known

    def snapshot(self) -> dict[str, bytes]:
        """Returns the state as panes."""
        known = {ID: self.sources.ids, "known": self._known, "last": self._last}
        meta = {"sequences": json.dumps({"next": self.next}).encode()}
        panes = self._waiting.snapshot("waiting") | {"sources": frames.to_bytes(pl.DataFrame(known))} | meta
        return panes if self._symbols is None else panes | self._symbols.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        self._waiting.restore("waiting", panes)
        known = frames.from_bytes(panes["sources"])
        self.sources.ids = known[ID]
        self._known, self._last = known["known"].to_numpy().copy(), known["last"].to_numpy().copy()
        self.next = json.loads(panes["sequences"])["next"]
        if self._symbols is not None:
            self._symbols.restore(panes)
