"""SIMILAR by a table: tuples in order -> their matches, by the one table of all streams (SNJoin section 4).

Equal values are found by their numbers; nearly equal ones in cells of the number line. Numbers are what they are; texts are given numbers, the same for
the same text as long as the table is not made again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.kernels.near_table import NearProbes, NearTable
from nilometer.kernels.occurrence_table import Numbers, OccurrenceTable, Probes
from nilometer.kernels.ranges import Integers
from nilometer.kernels.similar_pairs import Values
from nilometer.operators.frames import dtype
from nilometer.operators.logic import ID, TIME
from nilometer.operators.similar_forms import Matches
from nilometer.types import Kind, Type

WHOLE = (Kind.INT, Kind.TIME, Kind.DURATION)
TABLED = (*WHOLE, Kind.FLOAT, Kind.BOOLEAN, Kind.STRING)
"""The types whose values have numbers."""


@dataclass(frozen=True)
class Alike:
    """When values of a type in a column are alike, and whose they are."""

    column: str
    value: Type
    id_type: Type
    epsilon: float
    window: int

    @property
    def equal(self) -> bool:
        """Whether alike is equal: whole numbers differ by whole numbers."""
        return self.epsilon < 1 if self.value.kind in WHOLE else self.epsilon == 0


class SimilarTable:
    """Holds what `probe` was given, as long as it is within the window of what comes next; `last` is the latest time of it."""

    def __init__(self, alike: Alike) -> None:
        self._alike = alike
        self._equal = OccurrenceTable(alike.window) if alike.equal else None
        self._near = NearTable(alike.window, alike.epsilon)
        self._texts = Codes(pl.String())
        self._names = Codes(dtype(alike.id_type))
        self.last: int | None = None

    def __len__(self) -> int:
        return len(self._near if self._equal is None else self._equal)

    @property
    def crowded(self) -> bool:
        """Whether most of the texts it knows have gone: then it had better be made again."""
        return len(self._texts) + len(self._names) > 4 * len(self) + 10_000

    def probe(self, ordered: pl.DataFrame) -> Probes | NearProbes:
        """What each tuple is like; none may be earlier than `last`."""
        times = ordered[TIME].to_numpy()
        values, sources = ordered[self._alike.column], self._sources(ordered[ID])
        self.last = int(times[-1])
        if self._equal is None:
            return self._near.probe(times, values.to_numpy(), sources)
        return self._equal.probe(times, self._numbers(values), sources)

    def expire(self, watermark: int) -> None:
        """No tuple before the watermark comes any more."""
        (self._near if self._equal is None else self._equal).expire(watermark)

    def matches(self, probes: Probes | NearProbes) -> tuple[Matches, int]:
        """The matches of the last probes, and the row number of the first of them there."""
        oldest = int(probes.oldest[0]) if len(probes) else probes.first
        first = probes.first - oldest
        all_ = np.arange(oldest, probes.first + len(probes), dtype=np.int64)
        times: Integers
        if isinstance(probes, NearProbes):
            owners, others = self._near.expand(probes)
            times, ids = self._near.times(all_), self._ids(self._near.sources(all_))
            values = pl.Series(self._near.values(all_))
        else:
            assert self._equal is not None, "these probes are another table's"
            owners, others = self._equal.expand(probes)
            times, ids = self._equal.times(all_), self._ids(self._equal.sources(all_))
            values = self._values(self._equal.numbers(all_))
        # Members come by id: the number of a name says nothing of its order.
        sources = ids.rank("dense").to_numpy().astype(np.int64) if ids.dtype == pl.String else ids.to_numpy()
        return Matches(pl.Series(times), ids, values, sources, owners + first, others - oldest), first

    def _numbers(self, values: pl.Series) -> Numbers:
        numbers: Values
        match self._alike.value.kind:
            case Kind.FLOAT:
                numbers = values.to_numpy() + 0.0  # which makes -0.0 the 0.0 that it equals
            case Kind.STRING:
                numbers = self._texts.of(values)
            case Kind.BOOLEAN:
                numbers = values.cast(pl.Int64).to_numpy()
            case _:
                numbers = values.to_numpy()
        return np.ascontiguousarray(numbers).view(np.uint64)

    def _values(self, numbers: Numbers) -> pl.Series:
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
        """Whether sources have numbers of ours: where stamps are kept of them, and where they are texts."""
        return self._equal is None or self._alike.id_type.kind is Kind.STRING

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
        """Their numbers; new ones get the next."""
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
        """The values of these numbers."""
        return self._known["value"].gather(codes)

    def _look_up(self, asked: pl.DataFrame) -> pl.Series:
        return asked.join(self._known, on="value", how="left", maintain_order="left")["code"]
