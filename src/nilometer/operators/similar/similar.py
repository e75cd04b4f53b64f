"""SIMILAR: a stream -> each tuple with the earlier, like tuples of other sources (SNJoin, Definition 1).

A tuple matches the tuples of other sources that are strictly earlier in the order (time, id, position),
with |value - value'| <= epsilon and a time difference <= window. The window is one for all sensors, or the
earlier tuple's own (section 4.2.1). A tuple without a source or a value matches nothing. A tuple without a
match gives no row. The forms:

    LIST     one row per tuple: arity, and per source the ascending times: 1 + sum |L_i| cells
             (algorithms, section 9.1)
    PAIRS    one row per match
    FLATTEN  one row per combination of one match per source: prod |L_i| rows
    COUNTS   one row per tuple: arity and number of matches, none of which is examined
    SAMPLE   one row per tuple: arity, number of matches, and as LIST `sample` of them, evenly spread
             over the window

A round that would give more than `limit` matches (FLATTEN: rows) is refused; the error states the number
(rounds.py). On the gateway, rounds are so small that this happens to no query for being behind: `round_rows` follows
the matches that readings had so far.

A tuple waits until its tick is complete. The state is the tuples that are not older than the window, in
panes. One table of all streams finds the matches, of equal values (kernels/occurrence_table.py) or of nearly
equal ones (kernels/near_table.py). The table is rebuilt from the panes when needed. The cost of a round
depends on its new tuples, and COUNTS of equal values costs the same whatever the arity. For points, and where
times are out of order, pairs are found by sorted search (kernels/similar_pairs.py): a round sorts the new
tuples and those that may be like them.

>>> from nilometer.types import INT, Column
>>> air = Schema((Column("heat", INT),))
>>> rows = [(0, 0, 1, 0, 20), (1, 1, 2, 1, 21), (2, 2, 3, 2, 35), (3, 3, 3, 3, 20)]  # tick, time, id, ...
>>> logic = Similar(air, "heat", 1, 10, "PAIRS", "m").build()
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(air), orient="row"))
>>> logic.advance(Progress(watermark=4)).rows.select("m.id", "m.value", "m.other_id", "m.other_value").rows()
[(2, 21, 1, 20), (3, 20, 1, 20), (3, 20, 2, 21)]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from nilometer.algebra import SimilarForm
from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions.similar import alike_is_equal, similar_columns
from nilometer.kernels.arrays import Integers
from nilometer.kernels.candidates import split
from nilometer.kernels.near_counts import NearCounted
from nilometer.kernels.ranges import covered
from nilometer.kernels.similar_pairs import (
    SimilarRows,
    Values,
    similar_candidates,
    similar_pairs,
    similar_partners,
    value_bounds,
)
from nilometer.operators import frames
from nilometer.operators.gathering import gather
from nilometer.operators.limits import MOST_MATCHES, operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.order import in_time
from nilometer.operators.similar.counts import SimilarCounts
from nilometer.operators.similar.forms import Matches
from nilometer.operators.similar.recent import Recent
from nilometer.operators.similar.rounds import MATCHES_AT_ONCE, Asked, Chunk, answered
from nilometer.operators.similar.stripe_home import StripeHome
from nilometer.operators.similar.table import TABLED, Alike, SimilarTable
from nilometer.operators.validation import require, require_choice
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, INT_MAXIMUM, Kind, OwnWindow, Schema, Type, qualified

_NEW = "@new"

FIRST_ROUND = 1_024
LEAST_ROUND = 64
"""Rounds of fewer readings cost more than they save."""


@dataclass(frozen=True)
class Similar:
    """The variable-arity join on `column` of a stream, within `epsilon` and `window` microseconds, or each
    tuple's own window.

    With a `home`, only the tuples that are at home there are answered. The others are copies that can only be
    found.
    """

    input: Schema
    column: str
    epsilon: float
    window: int | OwnWindow
    form: str
    alias: str
    id_type: Type = INT
    sample: int = 0
    limit: int = MOST_MATCHES
    home: StripeHome | None = None

    def __post_init__(self) -> None:
        require_choice(self.form, SimilarForm, "SIMILAR in the form")
        require(self.column in self.input, f"SIMILAR on {self.column}, which is not there")
        if isinstance(self.window, OwnWindow):
            require(self.window.column in self.input, f"SIMILAR within {self.window}, which is not there")
        else:
            require(self.window >= 0, "SIMILAR within a negative distance")
        require(self.epsilon >= 0, "SIMILAR within a negative distance")
        require(
            (self.form == SimilarForm.SAMPLE) == (self.sample > 0), f"{self.form} of {self.sample} matches"
        )
        require(
            self.epsilon == 0 or self.value_type.kind in (Kind.INT, Kind.FLOAT, Kind.TIME, Kind.DURATION),
            f"SIMILAR within a distance of {self.value_type}",
        )

    @classmethod
    def of(cls, call: FunctionCall, input: Schema) -> Similar:
        """Returns the operator of a call."""
        epsilon, window, sample = call["WITHIN"], call.window, call["SAMPLE"] or 0
        assert isinstance(epsilon, float)
        assert isinstance(window, int | OwnWindow)
        assert isinstance(sample, int)
        form = str(call["FORM"])
        return cls(input, call.columns[0], epsilon, window, form, call.alias, call.id_type.plain, sample)

    @property
    def value_type(self) -> Type:
        """The type of the compared values."""
        return self.input[self.column].type.plain

    @property
    def alike(self) -> Alike:
        """The parameters by which a table compares values."""
        window = self.window if isinstance(self.window, int) else None
        return Alike(self.column, self.value_type, self.id_type, self.epsilon, window)

    @property
    def schema(self) -> Schema:
        """`alias.time`, `alias.id`, `alias.value`, and then the columns of the form."""
        return qualified(self.alias, similar_columns(SimilarForm(self.form), self.id_type, self.value_type))

    def build(self) -> SimilarLogic:
        return SimilarLogic(self)


class SimilarLogic:
    """The waiting tuples, and the tuples of the last `window`, in order."""

    def __init__(self, spec: Similar) -> None:
        self._spec = spec
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        names = {spec.column} | ({spec.window.column} if isinstance(spec.window, OwnWindow) else set())
        read = Schema(tuple(column for column in spec.input if column.name in names))
        self._kept = frames.stream_dtypes(read, spec.id_type)
        self._waiting = Waiting(self._kept)
        self._recent = Recent(spec.window, self._kept)
        self._table: SimilarTable | SimilarCounts | None = None
        self._matches_each: float | None = None

    @property
    def round_rows(self) -> int:
        """How many readings a round may bring: an eighth of the limit, if they have as many matches as the last ones.
        Before the first match is counted, few."""
        if self._spec.form == SimilarForm.COUNTS:
            return INT_MAXIMUM  # it holds no match
        if self._matches_each is None:
            return FIRST_ROUND
        return max(LEAST_ROUND, int(self._spec.limit / (8 * max(self._matches_each, 1.0))))

    @property
    def occurrences(self) -> int:
        """The number of tuples in the table."""
        return 0 if self._table is None else len(self._table)

    @property
    def table_bytes(self) -> int:
        """The size of the table in bytes."""
        return 0 if self._table is None else self._table.bytes

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows)

    @operator("SIMILAR")
    def advance(self, progress: Progress) -> Output:
        fresh = self._waiting.release(progress.watermark).drop_nulls([ID, self._spec.column])
        rows = frames.empty(self._columns)
        if fresh.height:
            rows = self._matches(self._recent.dated(fresh))
        self._recent.expire(progress.watermark)
        if self._table is not None:
            self._table.expire(progress.watermark)
        return Output(rows, no_evaluations())

    def _matches(self, fresh: pl.DataFrame) -> pl.DataFrame:
        """Returns the answers of fresh tuples and adds these to the recent ones."""
        if self._spec.value_type.kind not in TABLED:
            return self._searched(fresh)
        ordered = in_time(fresh, [ID, POSITION])
        if self._table is None or self._table.crowded:
            self._table = self._made_again()
        if self._table.last is not None and int(ordered[TIME][0]) <= self._table.last:
            # In a union, streams of different intervals pass the watermark with times that are out of order.
            self._table = None
            return self._searched(fresh)
        self._recent.append(fresh)
        probes = self._table.probe(ordered)
        asked = probes.partners
        if self._spec.home is not None:
            asked = asked * self._spec.home.holds(ordered[self._spec.column])
        if self._spec.form == SimilarForm.COUNTS:
            rows = np.flatnonzero(asked)
            head = [ordered[name].gather(rows) for name in (TIME, ID, self._spec.column)]
            arity = pl.Series("arity", 1 + probes.sources[rows])
            counts = pl.Series("matches", probes.partners[rows])
            named = [each.alias(f"@{place}") for place, each in enumerate([*head, arity, counts])]
            return self._answer(ordered, rows, pl.DataFrame(named))
        table = self._table
        assert isinstance(table, SimilarTable), "counts do not say which"
        assert not isinstance(probes, NearCounted), "counts do not say which"
        probes = replace(probes, partners=asked)
        chunks = (table.matches(probes, rows) for rows in split(asked, MATCHES_AT_ONCE))
        return self._round(ordered, chunks, asked)

    def _round(self, ordered: pl.DataFrame, chunks: Iterable[Chunk], partners: Integers) -> pl.DataFrame:
        """Returns the answers of tuples with these numbers of partners."""
        if len(partners):
            self._matches_each = float(partners.sum()) / len(partners)
        asked = Asked(SimilarForm(self._spec.form), self._spec.sample, self._spec.limit)
        answer = answered(asked, chunks, partners)
        return frames.empty(self._columns) if answer is None else self._answer(ordered, *answer)

    def _made_again(self) -> SimilarTable | SimilarCounts:
        """Rebuilds the table from the tuples that are kept."""
        alike = self._spec.alike
        near = alike.window is not None and not alike_is_equal(alike.value, alike.epsilon)
        counts = near and self._spec.form == SimilarForm.COUNTS
        table: SimilarTable | SimilarCounts = SimilarCounts(alike) if counts else SimilarTable(alike)
        recent = frames.concatenate([pane.living for pane in self._recent], self._recent.columns)
        if recent.height:
            table.probe(in_time(recent, [ID, POSITION]))
        return table

    def _searched(self, fresh: pl.DataFrame) -> pl.DataFrame:
        """Finds the matches by sorted search among the tuples that may be alike."""
        recent = self._like(fresh)
        new = np.arange(recent.height + fresh.height) >= recent.height
        both = frames.concatenate([recent, fresh], self._recent.columns).with_columns(pl.Series(_NEW, new))
        ordered = in_time(both, [ID, POSITION])
        asking = ordered[_NEW].to_numpy()
        if self._spec.home is not None:
            asking = asking & self._spec.home.holds(ordered[self._spec.column])
        probes = np.flatnonzero(asking)
        self._recent.append(fresh)
        sources = ordered[ID].rank("dense").to_numpy().astype(np.int64)
        epsilon, window = self._spec.epsilon, self._recent.windows(ordered)
        given = SimilarRows(ordered[TIME].to_numpy(), sources, self._values(ordered), epsilon, window)
        # The number of possible matches is cheap to compute. Only if it is too large are the real matches
        # counted.
        partners = similar_candidates(given, probes)
        chunks = (
            (self._pairs(ordered, given, probes[part]), np.arange(ordered.height))
            for part in split(partners, MATCHES_AT_ONCE)
        )
        if int(partners.sum()) > self._spec.limit:
            partners = similar_partners(given, probes)
        return self._round(ordered, chunks, partners)

    def _pairs(self, ordered: pl.DataFrame, given: SimilarRows, probes: Integers) -> Matches:
        probe, other = similar_pairs(given, probes)
        return Matches(ordered[TIME], ordered[ID], ordered[self._spec.column], given.sources, probe, other)

    def _answer(self, ordered: pl.DataFrame, rows: Integers, visible: pl.DataFrame) -> pl.DataFrame:
        """Returns the visible columns of these tuples with the system columns."""
        system = ordered.select(TICK, TIME, ID, POSITION)[rows]
        visible.columns = list(self._spec.schema.names)
        return frames.conform(pl.concat([system, visible], how="horizontal"), self._columns)

    def _like(self, fresh: pl.DataFrame) -> pl.DataFrame:
        """Returns the recent tuples with values near any of the fresh ones', and perhaps some others. No
        other tuple can match.
        """
        values = self._comparable(fresh)
        least, greatest = None, None
        if values is not None:
            least, greatest = value_bounds(values, self._spec.epsilon)
        parts = []
        for pane in self._recent.reaching(int(fresh[TIME].min())):  # type: ignore[arg-type]
            if least is None or greatest is None:
                parts.append(pane.living)
                continue
            if "values" not in pane.notes:
                mine = self._comparable(pane.rows)
                assert mine is not None
                order = np.argsort(mine, kind="stable")
                pane.notes["values"] = order, mine[order]
            order, sorted_values = pane.notes["values"]
            places = covered(
                np.searchsorted(sorted_values, least, side="left"),
                np.searchsorted(sorted_values, greatest, side="right"),
                len(order),
            )
            places = np.sort(order[places])
            parts.append(pl.DataFrame(gather(pane.rows, places[places >= pane.start])))
        return frames.concatenate(parts, self._recent.columns)

    def _comparable(self, rows: pl.DataFrame) -> Values | None:
        """Numbers that are as close as the values. For equality of other types: hashes, equal for equal
        values.
        """
        values = rows[self._spec.column]
        match self._spec.value_type.kind:
            case Kind.FLOAT | Kind.INT | Kind.TIME | Kind.DURATION:
                return self._values(rows)
            case Kind.STRING | Kind.BOOLEAN:
                return values.hash().to_numpy().view(np.int64)
            case _:
                return None

    def _values(self, ordered: pl.DataFrame) -> Values:
        """Numbers unchanged. For other types: numbers that are equal for equal values."""
        values = ordered[self._spec.column]
        match self._spec.value_type.kind:
            case Kind.FLOAT:
                return values.to_numpy().astype(np.float64) + np.float64(
                    0
                )  # -0.0 and 0.0 are one value, also to a sort
            case Kind.INT | Kind.TIME | Kind.DURATION:
                return values.to_numpy().astype(np.int64, copy=False)
            case Kind.POINT:
                x, y = (values.struct.field(name).rank("dense").cast(pl.Int64) for name in ("x", "y"))
                return (x * (len(values) + 1) + y).to_numpy()
            case _:
                return values.rank("dense").to_numpy().astype(np.int64)

    def snapshot(self) -> dict[str, bytes]:
        return self._waiting.snapshot("waiting") | self._recent.snapshot("recent")

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._recent.restore("recent", panes)
        self._table = None
