"""SIMILAR by a table: tuples in order -> their matches, by the one table of all streams (SNJoin section 4).

Equal values are found by their numbers, nearly equal ones in cells of the number line. Numbers are used
unchanged. Texts get numbers, and a text keeps its number until the table is rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.table_functions.similar import alike_is_equal
from nilometer.kernels.arrays import Integers, Words
from nilometer.kernels.near_table import NearProbes, NearTable
from nilometer.kernels.occurrence_table import OccurrenceTable, Probes
from nilometer.kernels.own_window_table import OwnProbes, OwnWindowTable
from nilometer.kernels.similar_pairs import Values
from nilometer.operators.frames import dtype
from nilometer.operators.logic import ID, TIME
from nilometer.operators.similar.forms import Matches
from nilometer.operators.similar.recent import UNTIL
from nilometer.types import Kind, Type

TABLED = (Kind.INT, Kind.TIME, Kind.DURATION, Kind.FLOAT, Kind.BOOLEAN, Kind.STRING)
"""The types whose values can be represented as numbers in the table."""


@dataclass(frozen=True)
class Alike:
    """When the values of a column are alike, and which source they belong to."""

    column: str
    value: Type
    id_type: Type
    epsilon: float
    window: int | None
    """None: the column UNTIL says until when each tuple can be joined with."""


class SimilarTable:
    """Holds the tuples given to `probe` while they are within the window of the next one. `last` is the
    latest time among them.
    """

    def __init__(self, alike: Alike) -> None:
        self._alike = alike
        self._table: OccurrenceTable | OwnWindowTable | NearTable
        if not alike_is_equal(alike.value, alike.epsilon):
            self._table = NearTable(alike.window, alike.epsilon)
        else:
            self._table = OwnWindowTable() if alike.window is None else OccurrenceTable(alike.window)
        self._texts = Codes(pl.String())
        self._names = Codes(dtype(alike.id_type))
        self.last: int | None = None

    def __len__(self) -> int:
        return len(self._table)

    @property
    def bytes(self) -> int:
        """The size of the kernel's table in bytes."""
        return self._table.bytes

    @property
    def crowded(self) -> bool:
        """Whether most of the known texts are gone, so that the table should be rebuilt."""
        return len(self._texts) + len(self._names) > 4 * len(self) + 10_000

    def probe(self, ordered: pl.DataFrame) -> Probes | NearProbes:
        """Returns the matches of each tuple. None may be earlier than `last`."""
        times = ordered[TIME].to_numpy()
        values, sources = ordered[self._alike.column], self._sources(ordered[ID])
        self.last = int(times[-1])
        match self._table:
            case OccurrenceTable():
                return self._table.probe(times, self._numbers(values), sources)
            case OwnWindowTable():
                return self._table.probe(times, self._numbers(values), sources, ordered[UNTIL].to_numpy())
            case NearTable():
                until = ordered[UNTIL].to_numpy() if self._alike.window is None else None
                return self._table.probe(times, values.to_numpy(), sources, until)

    def expire(self, watermark: int) -> None:
        """Drop the tuples that nothing can match any more: no tuple before the watermark comes."""
        self._table.expire(watermark)

    def matches(self, probes: Probes | NearProbes, rows: slice) -> tuple[Matches, Integers]:
        """Returns the matches of these rows of the last probes, among the occurrences that take part. Also
        returns, for each of these occurrences, the probed tuple that it is (below 0: an earlier tuple).
        """
        owners, others = self._expanded(probes, rows)
        owners += probes.first
        # Not the whole window: the cost of a round depends on its new tuples and their matches.
        taking_part = np.unique(np.concatenate([np.unique(owners), others]))
        ids = self._ids(self._table.sources(taking_part))
        # Members are sorted by id: the number of a name says nothing about its order.
        sources = ids.rank("dense").to_numpy().astype(np.int64) if ids.dtype == pl.String else ids.to_numpy()
        matches = Matches(
            pl.Series(self._table.times(taking_part)),
            ids,
            self._values_of(taking_part),
            sources,
            np.searchsorted(taking_part, owners),
            np.searchsorted(taking_part, others),
        )
        return matches, taking_part - probes.first

    def _expanded(self, probes: Probes | NearProbes, rows: slice) -> tuple[Integers, Integers]:
        match self._table, probes:
            case NearTable() as near, NearProbes():
                return near.expand(probes, rows)
            case OwnWindowTable() as own, OwnProbes():
                return own.expand(probes, rows)
            case OccurrenceTable() as table, Probes():
                return table.expand(probes, rows)
        raise AssertionError("these probes are another table's")

    def _values_of(self, occurrences: Integers) -> pl.Series:
        if isinstance(self._table, NearTable):
            return pl.Series(self._table.values(occurrences))
        return self._values(self._table.numbers(occurrences))

    def _numbers(self, values: pl.Series) -> Words:
        numbers: Values
        match self._alike.value.kind:
            case Kind.FLOAT:
                numbers = values.to_numpy() + 0.0  # makes -0.0 the 0.0 that it equals
            case Kind.STRING:
                numbers = self._texts.of(values)
            case Kind.BOOLEAN:
                numbers = values.cast(pl.Int64).to_numpy()
            case _:
                numbers = values.to_numpy()
        return np.ascontiguousarray(numbers).view(np.uint64)

    def _values(self, numbers: Words) -> pl.Series:
        match self._alike.value.kind:
            case Kind.FLOAT:
                return pl.Series(numbers.view(np.float64))
            case Kind.STRING:
                return self._texts.values(numbers.view(np.int64))
            case Kind.BOOLEAN:
                return pl.Series(numbers.astype(np.bool_))
            case _:
                return pl.Series(numbers.view(np.int64))

    @property
    def _named(self) -> bool:
        """Whether we number the sources ourselves: where stamps are kept per source, and where ids are
        texts.
        """
        return isinstance(self._table, NearTable) or self._alike.id_type.kind is Kind.STRING

    def _sources(self, ids: pl.Series) -> Integers:
        found: Integers = self._names.of(ids) if self._named else ids.to_numpy()
        return found

    def _ids(self, sources: Integers) -> pl.Series:
        return self._names.values(sources) if self._named else pl.Series(sources)


class Codes:
    """Values and their numbers: 0, 1, ... in the order in which they were first met.

    >>> codes = Codes(pl.String())
    >>> codes.of(pl.Series(["b", "a", "b"])).tolist(), codes.of(pl.Series(["c", "a"])).tolist()
    ([0, 1, 0], [2, 1])
    >>> codes.values(np.array([1, 2])).to_list()
    ['a', 'c']
    """

    def __init__(self, kind: pl.DataType) -> None:
        self._known = pl.DataFrame(schema={"value": kind, "code": pl.Int64})

    def __len__(self) -> int:
        return self._known.height

    def of(self, values: pl.Series) -> Integers:
        """Returns the numbers of the values. New values get the next numbers."""
        asked = pl.DataFrame({"value": values})
        codes = self._look_up(asked)
        if codes.null_count():
            new = asked.filter(codes.is_null()).unique(maintain_order=True)
            numbers = pl.Series("code", np.arange(len(self), len(self) + new.height, dtype=np.int64))
            self._known = pl.concat([self._known, new.with_columns(numbers)], rechunk=True)
            codes = self._look_up(asked)
        found: Integers = codes.to_numpy()
        return found

    def values(self, codes: Integers) -> pl.Series:
        """Returns the values of these numbers."""
        return self._known["value"].gather(codes)

    def _look_up(self, asked: pl.DataFrame) -> pl.Series:
        return asked.join(self._known, on="value", how="left", maintain_order="left")["code"]
