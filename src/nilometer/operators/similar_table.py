"""SIMILAR by equality: tuples in order -> their matches, by the one table of all streams (SNJoin section 4).

Numbers are what they are; text is given numbers, the same for the same text as long as the table is not made again.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.kernels.occurrence_table import Numbers, OccurrenceTable, Probes
from nilometer.kernels.ranges import Integers
from nilometer.operators.logic import ID, TIME
from nilometer.operators.similar_forms import Matches
from nilometer.types import Kind, Type

TABLED = (Kind.INT, Kind.FLOAT, Kind.TIME, Kind.DURATION, Kind.BOOLEAN, Kind.STRING)
"""The types whose values have numbers."""


class SimilarTable:
    """Holds what `probe` was given, as long as it is within the window of what comes next."""

    def __init__(self, column: str, value: Type, window: int) -> None:
        self._column = column
        self._kind = value.kind
        self._table = OccurrenceTable(window)
        self._texts = Codes()
        self._names = Codes()
        self.last: int | None = None

    @property
    def crowded(self) -> bool:
        """Whether most of the texts it knows have gone: then it had better be made again."""
        return len(self._texts) + len(self._names) > 4 * len(self._table) + 10_000

    def probe(self, ordered: pl.DataFrame) -> Probes:
        """What each tuple is like; none may be earlier than `last`."""
        times = ordered[TIME].to_numpy()
        probes = self._table.probe(times, self._numbers(ordered[self._column]), self._sources(ordered[ID]))
        self.last = int(times[-1])
        return probes

    def expire(self, watermark: int) -> None:
        """No tuple before the watermark comes any more."""
        self._table.expire(watermark)

    def matches(self, probes: Probes) -> tuple[Matches, int]:
        """The matches of the last probes, and the row number of the first of them there."""
        owners, others = self._table.expand(probes)
        oldest = int(probes.oldest[0]) if len(probes) else probes.first
        all_ = np.arange(oldest, probes.first + len(probes), dtype=np.int64)
        ids, values = self._ids(self._table.sources(all_)), self._values(self._table.numbers(all_))
        # Members come by id: the number of a name says nothing of its order.
        sources = ids.rank("dense").to_numpy().astype(np.int64) if ids.dtype == pl.String else ids.to_numpy()
        first = probes.first - oldest
        times = pl.Series(self._table.times(all_))
        return Matches(times, ids, values, sources, owners + first, others - oldest), first

    def _numbers(self, values: pl.Series) -> Numbers:
        match self._kind:
            case Kind.FLOAT:
                # Adding 0.0 makes -0.0 the 0.0 that it equals.
                return (values.to_numpy().astype(np.float64, copy=False) + 0.0).view(np.uint64)
            case Kind.STRING:
                return self._texts.of(values).view(np.uint64)
            case Kind.BOOLEAN:
                return values.cast(pl.UInt64).to_numpy()
            case _:
                return np.ascontiguousarray(values.to_numpy().astype(np.int64, copy=False)).view(np.uint64)

    def _values(self, numbers: Numbers) -> pl.Series:
        match self._kind:
            case Kind.FLOAT:
                return pl.Series(numbers.view(np.float64))
            case Kind.STRING:
                return self._texts.values(numbers.view(np.int64))
            case Kind.BOOLEAN:
                return pl.Series(numbers.astype(np.bool_))
            case _:
                return pl.Series(numbers.view(np.int64))

    def _sources(self, ids: pl.Series) -> Integers:
        return self._names.of(ids) if ids.dtype == pl.String else ids.to_numpy().astype(np.int64, copy=False)

    def _ids(self, sources: Integers) -> pl.Series:
        return self._names.values(sources) if len(self._names) else pl.Series(sources)


class Codes:
    """Texts and their numbers: 0, 1, ... in the order in which they were first met.

    >>> codes = Codes()
    >>> codes.of(pl.Series(["b", "a", "b"])).tolist(), codes.of(pl.Series(["c", "a"])).tolist()
    ([0, 1, 0], [2, 1])
    >>> codes.values(np.array([1, 2])).to_list()
    ['a', 'c']
    """

    def __init__(self) -> None:
        self._known = pl.DataFrame(schema={"text": pl.String, "code": pl.Int64})

    def __len__(self) -> int:
        return self._known.height

    def of(self, texts: pl.Series) -> Integers:
        """Their numbers; new ones get the next."""
        asked = pl.DataFrame({"text": texts})
        codes = self._look_up(asked)
        if codes.null_count():
            new = asked.filter(codes.is_null()).unique(maintain_order=True)
            numbers = pl.Series("code", np.arange(len(self), len(self) + new.height, dtype=np.int64))
            self._known = pl.concat([self._known, new.with_columns(numbers)], rechunk=True)
            codes = self._look_up(asked)
        return codes.to_numpy()

    def values(self, codes: Integers) -> pl.Series:
        """The texts of these numbers."""
        return self._known["text"].gather(codes)

    def _look_up(self, asked: pl.DataFrame) -> pl.Series:
        return asked.join(self._known, on="text", how="left", maintain_order="left")["code"]
