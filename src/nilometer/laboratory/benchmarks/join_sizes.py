"""The size of the variable-arity join's answers, factorised and flat, and the state of SIMILAR over an hour
(part of `nilometer bench joins`).

An answer is a range of its value's list, which all answers share: 40 bytes, whatever its arity. Written out
as lists it has a source and a length for each stream, and a time for each occurrence (SNJoin's sublists). As
rows of the Cartesian product it has a source and a time for each stream in every row. The last size is
counted, in integers, and the rows are never built.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

import numpy as np
import polars as pl

from nilometer.kernels.occurrence_table import OccurrenceTable
from nilometer.kernels.partners import partners
from nilometer.laboratory.baselines import Arrivals
from nilometer.operators import frames
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Progress
from nilometer.operators.similar.similar import Similar
from nilometer.types import FLOAT, MINUTE, SECOND, Column, Schema

ANSWERS = 200
RANGE = 40
"""The bytes of a range: its beginning and end, its owner, its number of occurrences and of their sources."""
NUMBER = 8


@dataclass(frozen=True)
class Sizes:
    """The sizes for a number of answers: occurrences in the table and its bytes; matches and streams in
    total; rows and cells of the products."""

    sensors: int
    occurrences: int
    table: int
    matches: int
    streams: int
    rows: int
    cells: int

    def line(self) -> str:
        """The sizes for a person to read."""
        listed = NUMBER * (self.matches + 2 * self.streams)
        return (
            f"{self.sensors:>7,} sensors: {ANSWERS} answers factorised {ANSWERS * RANGE / 1e3:.0f} kB beside the shared table of "
            f"{self.table / 1e6:.1f} MB ({self.occurrences:,} readings); as lists {listed / 1e6:.1f} MB ({self.matches:,} matches); "
            f"flat {power(self.rows)} rows, {power(2 * NUMBER * self.cells)} bytes"
        )


def sizes(given: Arrivals, sensors: int, window: int) -> Sizes:
    """The sizes of the last answers to these readings."""
    table = OccurrenceTable(window)
    numbers = given.keys.view(np.uint64)
    first = len(given) - ANSWERS
    table.probe(given.times[:first], numbers[:first], given.sources[:first])
    probes = table.probe(given.times[first:], numbers[first:], given.sources[first:])
    found = [partners(table, probes, row) for row in range(len(probes))]
    products = [each.combinations() for each in found]
    return Sizes(
        sensors,
        len(table),
        table.bytes,
        int(probes.partners.sum()),
        int(probes.sources.sum()),
        sum(products),
        sum(product * (1 + each.sources) for product, each in zip(products, found, strict=True)),
    )


def power(count: int) -> str:
    """A number, or its order of magnitude if it has many digits.

    >>> power(1_234), power(7**900)
    ('1,234', '10^760')
    """
    return f"{count:,}" if count < 10**9 else f"10^{log10(count):.0f}"


@dataclass(frozen=True)
class Held:
    """After a number of seconds of the stream: the occurrences in SIMILAR's table, its bytes, and the bytes
    of its written state."""

    seconds: int
    occurrences: int
    table: int
    state: int


def held_over(given: Arrivals, seconds: int, window: int, step: int = 10) -> list[Held]:
    """SIMILAR's state, minute by minute, over a stream of this many seconds that comes in rounds of `step`
    seconds."""
    schema = Schema((Column("s.v", FLOAT),))
    logic = Similar(schema, "s.v", 0, window, "COUNTS", "q").build()
    found = []
    position = np.arange(len(given), dtype=np.int64)
    rows = pl.DataFrame(
        {TICK: given.times, TIME: given.times, ID: given.sources, POSITION: position, "s.v": given.keys}
    )
    rows = frames.conform(rows, frames.stream_dtypes(schema))
    for begin in range(0, seconds, step):
        low, high = np.searchsorted(given.times, [begin * SECOND, (begin + step) * SECOND])
        logic.update(0, rows[int(low) : int(high)])
        logic.advance(Progress((begin + step) * SECOND))
        if (begin + step) * SECOND % MINUTE == 0:
            state = sum(map(len, logic.snapshot().values()))
            found.append(Held(begin + step, logic.occurrences, logic.table_bytes, state))
    return found
