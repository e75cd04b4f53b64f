"""PH_CANDIDATES: a stream -> who has enough alike readings in the window, source by source; only changes.

A reading of tick t counts at the evaluations from ceil(t, SLIDE) on and before ceil(t + RANGE, SLIDE). Readings of a
source and class that count at the same evaluations are folded into a slice, so that a reading costs constant time and
an evaluation costs as much as there are sources whose slices come or go (kernels/window_states.py). A row says how the
readings of a candidate stand at an evaluation: their number, sum, least and greatest value, and where the source is.
n = 0: it is a candidate no more.

With WITHIN, which compares the readings of neighbours, there is a row for each reading, at its first evaluation.

With SHARE, a candidate needs that percentage of its own readings in the window, too (heard.py).

PH_SOURCES gives these rows, and a row without a class for each source that is heard first or is elsewhere
than before.

The state is the slices in the window, the readings beyond the watermark, and each source's place (RISING, FALLING:
and its last reading).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions.phenomena import WITHIN, alike_readings
from nilometer.kernels.arrays import Integers
from nilometer.kernels.window_states import window_states
from nilometer.operators import frames
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.order import source_order
from nilometer.operators.panes import Panes
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.phenomena.classes import class_of, class_of_change, needs_order
from nilometer.phenomena.heard import LAST, Heard
from nilometer.phenomena.keys import Keys
from nilometer.phenomena.places import FIRST, Places, X, Y
from nilometer.types import INT_MINIMUM, Kind, Schema, ceil_to

CLASS = "@class"
VALUE = "@value"
KEY = "@key"
_POINT = pl.when(pl.col(X).is_not_null()).then(pl.struct(pl.col(X).alias("x"), pl.col(Y).alias("y")))


@dataclass(frozen=True)
class Candidates:
    """The candidates of a call of PHENOMENA or another function of a phenomenon."""

    call: FunctionCall
    input: Schema
    places: bool = False
    """Tell also where every source is (PH_SOURCES)."""

    @classmethod
    def with_places(cls, call: FunctionCall, input: Schema) -> Candidates:
        """PH_SOURCES."""
        return cls(call, input, True)

    def __post_init__(self) -> None:
        frame = self.call.window
        require(isinstance(frame, Frame) and frame.start is not None, "PH_CANDIDATES without a frame")
        require(
            set(self.call.columns) <= set(self.input.names), "PH_CANDIDATES of columns that are not there"
        )

    @property
    def schema(self) -> Schema:
        """`alias.id`, `alias.value` and so on."""
        return self.call.schema(self.input)

    def build(self) -> CandidatesLogic:
        return CandidatesLogic(self)


class CandidatesLogic:
    """Slices in the window, and who is a candidate."""

    def __init__(self, spec: Candidates) -> None:
        self._spec = spec
        call = spec.call
        frame = call.window
        assert isinstance(frame, Frame)
        assert frame.start is not None
        self._range, self._slide = frame.start, frame.slide
        self._strength, self._share = alike_readings(call)
        value = spec.input[call.columns[0]].type
        self._numeric = value.kind in (Kind.INT, Kind.FLOAT)
        self._linking = call["LIKENESS"] == WITHIN
        self._output = frames.stream_dtypes(spec.schema, call.id_type.plain)
        id_dtype = frames.dtype(call.id_type.plain)
        klass = self._output[f"{call.alias}.value"]
        head: frames.Dtypes = {ID: id_dtype, TICK: pl.Int64(), TIME: pl.Int64(), POSITION: pl.Int64()}
        self._ordered = needs_order(call)
        own = (
            {VALUE: frames.dtype(value.plain)}
            if self._ordered or not self._numeric
            else {VALUE: pl.Float64()}
        )
        self._readings = head | {FIRST: pl.Int64(), CLASS: klass} | own
        self._waiting = Waiting(self._readings, gate=FIRST)
        self._places = Places(id_dtype) if len(call.columns) > 1 or spec.places else None
        self._before = frames.empty({ID: id_dtype, TIME: pl.Int64(), VALUE: frames.dtype(value.plain)})
        self._saved = frames.Saved()
        slices: frames.Dtypes = {ID: id_dtype, CLASS: klass, FIRST: pl.Int64(), LAST: pl.Int64()}
        slices |= {"n": pl.Int64(), "sum": pl.Float64(), "low": pl.Float64(), "high": pl.Float64()}
        self._stored = Panes(LAST, slices, None)
        self._keys = Keys(id_dtype, klass)
        self._index = _Slices.empty()
        self._heard = Heard(id_dtype) if self._share and not self._linking else None

    # ---- readings in -------------------------------------------------------------------------------------------------

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        call = self._spec.call
        rows = rows.drop_nulls(ID)
        if not rows.height:
            return
        tick, value = pl.col(TICK), pl.col(call.columns[0])
        first = (-((-tick) // self._slide) * self._slide).alias(FIRST)
        if self._places is not None:
            if len(call.columns) > 1:
                place = pl.col(call.columns[1])
                x, y = place.struct.field("x"), place.struct.field("y")
            else:
                x = y = pl.lit(None, dtype=pl.Float64)
            whole = x.is_finite() & y.is_finite()
            self._places.add(
                rows.select(
                    ID,
                    TIME,
                    POSITION,
                    first,
                    pl.when(whole).then(x).alias(X),
                    pl.when(whole).then(y).alias(Y),
                )
            )
        type_ = self._spec.input[call.columns[0]].type.plain
        if self._ordered:
            klass: pl.Expr = pl.lit(None, dtype=pl.String)
        else:
            klass = class_of(call, value, type_)
            alike = rows.select(klass.is_not_null()).to_series()
            if not alike.all() and not self._share:
                rows = rows.filter(alike)
        kept = value.cast(pl.Float64) if self._numeric and not self._ordered else value
        if self._linking and self._share:
            # A reading that is like no other is only counted.
            kept = pl.when(klass.is_not_null()).then(kept)
        self._waiting.add(rows.select(ID, TICK, TIME, POSITION, first, klass.alias(CLASS), kept.alias(VALUE)))

    # ---- evaluations out ---------------------------------------------------------------------------------------------

    @operator("PH_CANDIDATES")
    def advance(self, progress: Progress) -> Output:
        since = None if progress.first_tick is None else ceil_to(progress.first_tick, self._slide)
        if since is None or progress.watermark <= since:
            return Output(frames.empty(self._output), no_evaluations())
        readings = self._waiting.release(progress.watermark)
        heard = self._count(readings, since, progress.watermark)
        if self._ordered and readings.height:
            readings = self._changes(readings)
        if self._share and not self._linking:
            readings = readings.filter(pl.col(CLASS).is_not_null())
        where = frames.empty({}) if self._places is None else self._places.where
        moved = None if self._places is None else self._places.release(progress.watermark, since)
        readings = (
            readings.with_columns(pl.col(FIRST).clip(lower_bound=since)) if readings.height else readings
        )
        if self._linking:
            rows = self._all(readings, where, moved)
        else:
            touched = self._fold(readings, (moved, heard), since, progress.watermark)
            rows = self._states(*touched, where)
            self._forget(progress.watermark)
        if self._spec.places and moved is not None and moved.height:
            rows = pl.concat([rows, self._moves(moved)])
        return Output(rows, no_evaluations())

    def _moves(self, moved: pl.DataFrame) -> pl.DataFrame:
        """A row for each source that is elsewhere, without a class."""
        alias = self._spec.call.alias
        return frames.conform(
            moved.select(
                pl.col(FIRST).alias(TICK),
                pl.col(FIRST).alias(TIME),
                ID,
                pl.lit(None, dtype=pl.Int64).alias(POSITION),
                pl.col(ID).alias(f"{alias}.id"),
                *(
                    pl.lit(None, dtype=self._output[f"{alias}.{name}"]).alias(f"{alias}.{name}")
                    for name in ("value", "n", "sum", "low", "high")
                ),
                _POINT.alias(f"{alias}.place"),
            ),
            self._output,
        )

    def _count(self, readings: pl.DataFrame, since: int, watermark: int) -> pl.DataFrame | None:
        """With SHARE: count all readings. Returns the sources whose number changes, and the evaluations."""
        if self._heard is None:
            return None
        tick = pl.col(TICK) + self._range
        last = (-((-tick) // self._slide) * self._slide).alias(LAST)
        return self._heard.add(readings.select(ID, pl.col(FIRST).clip(lower_bound=since), last), watermark)

    def _changes(self, readings: pl.DataFrame) -> pl.DataFrame:
        """The classes of RISING and FALLING, by the reading before."""
        ordered = source_order(readings, [VALUE])
        heads = pl.concat([self._before, ordered.select(ID, TIME, VALUE)])
        before = heads.select(
            pl.col(TIME).shift(1).over(ID).alias("@then"), pl.col(VALUE).shift(1).over(ID).alias("@earlier")
        ).slice(self._before.height)
        self._before = heads.group_by(ID, maintain_order=True).last().sort(ID)
        klass = class_of_change(
            self._spec.call, pl.col(VALUE), pl.col("@earlier"), pl.col(TIME), pl.col("@then")
        )
        return (
            pl.concat([ordered, before], how="horizontal")
            .with_columns(klass.alias(CLASS), pl.col(VALUE).cast(pl.Float64))
            .filter(pl.col(CLASS).is_not_null())
            .drop("@then", "@earlier")
        )

    def _fold(
        self, readings: pl.DataFrame, others: Sequence[pl.DataFrame | None], since: int, watermark: int
    ) -> tuple[Integers, Integers]:
        """Folds new readings into slices. Returns the keys and ticks at which a window can have changed; `others` are
        sources and evaluations (ID, FIRST) at which they do for another reason."""
        touched, ticks = [], []
        if readings.height:
            tick = pl.col(TICK) + self._range
            readings = readings.with_columns((-((-tick) // self._slide) * self._slide).alias(LAST))
            slices = _slices(readings.filter(pl.col(LAST) > pl.col(FIRST)), self._numeric)
            self._stored.append(slices)
            numbers = self._keys.numbers(slices.select(ID, CLASS))
            self._index = self._index.with_slices(numbers, slices)
            touched.append(numbers)
            ticks.append(slices[FIRST].to_numpy())
        check_kept(len(self._index.keys))
        leaving = self._index.lasts < watermark
        touched.append(self._index.keys[leaving])
        ticks.append(self._index.lasts[leaving])
        for each in others:
            if each is not None and each.height:
                keys = self._keys.of_sources(each.select(ID, FIRST))
                touched.append(keys[KEY].to_numpy())
                ticks.append(keys[FIRST].to_numpy())
        key, tick_ = np.concatenate(touched), np.maximum(np.concatenate(ticks), since)
        order = np.lexsort((tick_, key))
        key, tick_ = key[order], tick_[order]
        fresh = np.ones(len(key), dtype=np.bool_)
        fresh[1:] = (key[1:] != key[:-1]) | (tick_[1:] != tick_[:-1])
        return key[fresh], tick_[fresh]

    def _states(self, keys: Integers, ticks: Integers, where: pl.DataFrame) -> pl.DataFrame:
        """The rows of the touches that make, change or end a candidate."""
        if not len(keys):
            return frames.empty(self._output)
        index = self._index
        n, total, low, high = window_states(
            index.keys, index.firsts, index.lasts, index.counts, index.sums, index.lows, index.highs,
            keys, ticks, self._strength,
        )  # fmt: skip
        n = np.where(n >= self._strength, n, 0)
        now = pl.DataFrame(
            {KEY: keys, TICK: ticks, "n": n, "sum": total, "low": low, "high": high},
            schema_overrides={KEY: pl.Int64(), TICK: pl.Int64(), "n": pl.Int64()},
        )
        now = self._keys.named(now)
        if self._heard is not None:
            enough = np.ceil(self._share * self._heard.at(now) / 100)
            now = now.with_columns(pl.Series("n", np.where(n >= enough, n, 0)))
        if self._places is not None:
            now = self._places.at(now, TICK, where)
        else:
            nowhere = pl.lit(None, dtype=pl.Float64)
            now = now.with_columns(nowhere.alias(X), nowhere.alias(Y))
        if not self._numeric:
            now = now.with_columns(
                pl.lit(None, dtype=pl.Float64).alias(name) for name in ("sum", "low", "high")
            )
        changed = self._keys.changed(now)
        alias = self._spec.call.alias
        on = pl.col("n") > 0
        rows = changed.sort(TICK, ID, CLASS).select(
            TICK,
            pl.col(TICK).alias(TIME),
            ID,
            pl.lit(None, dtype=pl.Int64).alias(POSITION),
            pl.col(ID).alias(f"{alias}.id"),
            pl.col(CLASS).alias(f"{alias}.value"),
            pl.col("n").alias(f"{alias}.n"),
            *(pl.when(on).then(pl.col(name)).alias(f"{alias}.{name}") for name in ("sum", "low", "high")),
            _POINT.alias(f"{alias}.place"),
        )
        return frames.conform(rows, self._output)

    def _all(self, readings: pl.DataFrame, where: pl.DataFrame, moved: pl.DataFrame | None) -> pl.DataFrame:
        """Every reading at its first evaluation, with its tick as `n`, and every move, for the tracker of WITHIN."""
        alias = self._spec.call.alias
        nothing = pl.lit(None, dtype=pl.Float64)
        parts = [
            readings.select(
                pl.col(FIRST).alias(TICK), ID, pl.col(TICK).alias("n"), pl.col(VALUE).alias("sum")
            )
        ]
        if moved is not None and moved.height:
            still = pl.lit(None, dtype=pl.Int64)
            parts.append(moved.select(pl.col(FIRST).alias(TICK), ID, still.alias("n"), nothing.alias("sum")))
        rows = pl.concat(parts)
        if not rows.height:
            return frames.empty(self._output)
        if self._places is not None:
            rows = self._places.at(rows, TICK, where)
        else:
            rows = rows.with_columns(nothing.alias(X), nothing.alias(Y))
        made = rows.sort(TICK, ID, "n", "sum").select(
            TICK,
            pl.col(TICK).alias(TIME),
            ID,
            pl.lit(None, dtype=pl.Int64).alias(POSITION),
            pl.col(ID).alias(f"{alias}.id"),
            pl.lit("within").alias(f"{alias}.value"),
            pl.col("n").alias(f"{alias}.n"),
            *(pl.col("sum").alias(f"{alias}.{name}") for name in ("sum", "low", "high")),
            _POINT.alias(f"{alias}.place"),
        )
        return frames.conform(made, self._output)

    def _forget(self, watermark: int) -> None:
        """Drop the slices that no evaluation to come can see, and the keys without any."""
        self._stored.take(watermark)
        self._index = self._index.later_than(watermark)
        if self._heard is not None:
            self._heard.forget(watermark)
        renumbered = self._keys.renumbered(self._index.keys)
        if renumbered is not None:
            self._index = self._index.renumbered(renumbered)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        panes = self._waiting.snapshot("waiting") | self._stored.snapshot("slices") | self._keys.snapshot()
        panes |= {} if self._places is None else self._places.snapshot()
        panes |= {"before": self._saved(self._before)} if self._ordered else {}
        panes |= {} if self._heard is None else self._heard.snapshot()
        return panes | {"meta": json.dumps({"bound": self._bound()}).encode()}

    def _bound(self) -> int | None:
        return int(self._index.lasts.min()) if len(self._index.lasts) else None

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        bound = json.loads(panes["meta"])["bound"]
        self._stored.restore("slices", panes, bound)
        if self._places is not None:
            self._places.restore(panes)
        if self._ordered:
            self._before = self._saved.load(panes["before"])
        if self._heard is not None:
            self._heard.restore(panes)
        self._keys.restore(panes)
        slices = self._stored.between(INT_MINIMUM, 2**63 - 1).sort(ID, CLASS, FIRST, LAST)
        self._index = _Slices.empty().with_slices(self._keys.numbers(slices.select(ID, CLASS)), slices)


def _slices(readings: pl.DataFrame, numeric: bool) -> pl.DataFrame:
    """The readings of each source, class and pair of evaluations as one row, in that order. Their sum is made in the
    order of the readings, whatever came with which batch."""
    nothing = pl.lit(None, dtype=pl.Float64)
    values = [pl.col(VALUE).alias("sum"), pl.col(VALUE).alias("low"), pl.col(VALUE).alias("high")]
    if not numeric:
        values = [nothing.alias(name) for name in ("sum", "low", "high")]
    keys = [ID, CLASS, FIRST, LAST]
    one = pl.lit(1, dtype=pl.Int64).alias("n")
    if readings.height < 2 or not readings.select(pl.struct(keys).is_duplicated().any()).item():
        return readings.select(*keys, one, *values).sort(keys)
    ordered = readings.sort(*keys, TIME, POSITION, *([VALUE] if numeric else []))
    if not numeric:
        counted = ordered.group_by(keys, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("n"))
        return counted.with_columns(values)
    return ordered.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"),
        pl.col(VALUE).cum_sum().last().alias("sum"),
        pl.col(VALUE).min().alias("low"),
        pl.col(VALUE).max().alias("high"),
    )


@dataclass(frozen=True)
class _Slices:
    """Slices as arrays, in the order of (key, first)."""

    keys: Integers
    firsts: Integers
    lasts: Integers
    counts: Integers
    sums: np.ndarray
    lows: np.ndarray
    highs: np.ndarray

    @classmethod
    def empty(cls) -> _Slices:
        whole, real = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64)
        return cls(whole, whole, whole, whole, real, real, real)

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.keys, self.firsts, self.lasts, self.counts, self.sums, self.lows, self.highs

    def with_slices(self, keys: Integers, slices: pl.DataFrame) -> _Slices:
        """With more slices of these keys, all of which begin later than those here of the same key."""
        if not len(keys):
            return self
        columns = (slices[name].to_numpy() for name in (FIRST, LAST, "n", "sum", "low", "high"))
        order = np.argsort(keys, kind="stable")
        new = [keys[order], *(column[order] for column in columns)]
        joined = [np.concatenate(pair) for pair in zip(self._arrays, new, strict=True)]
        merged = np.argsort(joined[0], kind="stable")
        return _Slices(*(array[merged] for array in joined))

    def later_than(self, watermark: int) -> _Slices:
        """Those that an evaluation at or after the watermark can see."""
        kept = self.lasts >= watermark
        return self if kept.all() else _Slices(*(array[kept] for array in self._arrays))

    def renumbered(self, numbers: Integers) -> _Slices:
        """With other numbers for the keys, in the same order."""
        return _Slices(numbers[self.keys], *self._arrays[1:])
