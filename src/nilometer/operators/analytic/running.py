"""ANALYTIC over a stream, in the order of time: each tuple with columns computed from those up to its own.

Each partition's tuples are in the order (time, id, position). A tuple waits until its tick is complete; then
all tuples of its time, its peers, are there. Tuples leave in the order (time, id, position), which is also the
order of the ticks. The state is the waiting tuples, and for each partition

- one row of totals: how many tuples it had, and the aggregates of all of them, for frames without a start;
- the last tuples that a later frame may reach: n for ROWS n PRECEDING and LAG(x, n), those of the last d for
  RANGE d PRECEDING, and the last n whose x is not NULL for LAG(x, n) IGNORE NULLS.

>>> from nilometer.types import Column
>>> river = Schema((Column("depth", INT),))
>>> number = AnalyticItem("n", AnalyticFunction.ROW_NUMBER, INT)
>>> logic = RunningAnalytic(river, (), (number,)).build()
>>> rows = [(0, 0, 2, 0, 40), (0, 0, 1, 1, 70), (1, 1, 2, 2, 45)]  # tick, time, id, position, depth
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=2)).rows.select(TIME, "depth", "n").rows()
[(0, 70, 1), (0, 40, 2), (1, 45, 3)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from nilometer.algebra.analytic import (
    AGGREGATES,
    AnalyticFunction,
    AnalyticItem,
    FrameUnit,
)
from nilometer.expressions import Expression, type_of
from nilometer.operators import frames
from nilometer.operators.analytic.analytic import arguments_of, check_analytic, item_column
from nilometer.operators.analytic.functions import (
    added_moments,
    counts,
    deviations,
    extremes,
    finite,
    float_sums,
    known_before,
    moments,
    place_of,
    value_in_frame,
    whole_sums,
)
from nilometer.operators.analytic.partitions import Order, Partitions, Range
from nilometer.operators.evaluate.evaluate import compile_expression
from nilometer.operators.gathering import gather
from nilometer.operators.last_rows import LastRows
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import TIME, Output, Progress, no_evaluations
from nilometer.operators.order import stream_order
from nilometer.operators.validation import require, require_columns
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, INT_MINIMUM, Column, Schema, Type

_PLACE = "@place"
_LEFT = "@left"
_ROWS = "@rows"
_TIMES = "@times"
_PLACES = (AnalyticFunction.ROW_NUMBER, AnalyticFunction.RANK, AnalyticFunction.DENSE_RANK)


@dataclass(frozen=True)
class RunningAnalytic:
    """Adds `items` to the tuples of a stream, ordered by time within each partition."""

    input: Schema
    partition: tuple[Expression, ...]
    items: tuple[AnalyticItem, ...]
    id_type: Type = INT

    def __post_init__(self) -> None:
        for expression in self.partition:
            require_columns(expression, self.input, "OVER")
        check_analytic(self.items, self.input)
        for item in self.items:
            known = (*_PLACES, AnalyticFunction.LAG)
            require(item.frame is not None or item.function in known, f"{item.function} over a stream")
            if item.frame is not None:
                end = item.frame.end
                require(end is not None and end <= 0, "a frame over a stream that does not end")
                require(item.frame.start is not None or end == 0, "a frame without ends over a stream")
                bounded = item.function is not AnalyticFunction.MEDIAN or item.frame.start is not None
                require(bounded, "a MEDIAN of all tuples of a stream")

    @property
    def schema(self) -> Schema:
        """The stream's columns and then the items."""
        return self.input + Schema(tuple(Column(item.name, item.type) for item in self.items))

    def build(self) -> RunningLogic:
        return RunningLogic(self)


def _runs_on(item: AnalyticItem) -> bool:
    """Whether its frame has no start, so that it needs the totals."""
    return item.frame is not None and item.frame.start is None


def _rows_back(item: AnalyticItem) -> int:
    """How many earlier rows it may look at."""
    if item.function is AnalyticFunction.LAG:
        return 0 if item.ignore_nulls else item.offset
    if item.frame is None or item.frame.unit is not FrameUnit.ROWS or item.frame.start is None:
        return 0
    return -int(item.frame.start)


def _time_back(item: AnalyticItem) -> int:
    """How far back in time it may look."""
    if item.frame is None or item.frame.unit is not FrameUnit.RANGE or item.frame.start is None:
        return 0
    return -int(item.frame.start)


class RunningLogic:
    """The tuples that wait, and the totals and last tuples of each partition."""

    def __init__(self, spec: RunningAnalytic) -> None:
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._visible = list(spec.input.names)
        self._waiting = Waiting(frames.stream_dtypes(spec.input, spec.id_type))
        self._items = spec.items
        self._compiled_keys = [
            (f"@key{n}", compile_expression(each)) for n, each in enumerate(spec.partition)
        ]
        self._arguments = arguments_of(spec.items)
        self._keys = [name for name, _ in self._compiled_keys]
        keys = {
            name: frames.dtype(type_of(each))
            for (name, _), each in zip(self._compiled_keys, spec.partition, strict=True)
        }
        self._depth = max(map(_rows_back, spec.items), default=0)
        self._reach = max(map(_time_back, spec.items), default=0)
        totals: frames.Dtypes = {_ROWS: pl.Int64(), _TIMES: pl.Int64()}
        kept: frames.Dtypes = {}
        for number, item in enumerate(spec.items):
            argument = pl.Null() if item.argument is None else frames.dtype(type_of(item.argument))
            if _runs_on(item):
                totals |= _totals_of(number, item, argument)
            elif item.argument is not None:
                kept[f"@argument{number}"] = argument
        self._totals = LastRows(self._keys, keys | {TIME: pl.Int64()} | totals, TIME)
        self._total_names = list(totals)
        self._kept = keys | {TIME: pl.Int64()} | kept
        self._last = LastRows(self._keys, self._kept, TIME)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows)

    @operator("ANALYTIC")
    def advance(self, progress: Progress) -> Output:
        rows = self._waiting.release(progress.watermark)
        if not rows.height:
            return Output(frames.empty(self._columns), no_evaluations())
        rows = stream_order(rows, self._visible)
        fresh = rows.select(TIME).with_columns(
            pl.int_range(pl.len(), dtype=pl.Int64).alias(_PLACE),
            *(evaluator(rows).alias(name) for name, evaluator in (*self._compiled_keys, *self._arguments)),
        )
        keys = fresh.select(self._keys)
        # Tuples emitted earlier come first, because their ticks were complete.
        ordered = pl.concat([self._last.of(keys), fresh], how="diagonal_relaxed")
        if self._keys:
            ordered = ordered.sort(self._keys, maintain_order=True)
        parts = self._partitions(ordered)
        before = self._before(ordered, keys)
        order = Order.of(ordered[TIME], False)
        totals = self._totals_now(ordered, parts, before, order)
        found = [
            self._column(item, number, ordered, parts, order, before, totals).rename(item.name)
            for number, item in enumerate(self._items)
        ]
        self._keep(ordered, parts, totals, progress.watermark)
        return Output(self._in_order(rows, ordered, found), no_evaluations())

    def _partitions(self, ordered: pl.DataFrame) -> Partitions:
        parts = Partitions.of(ordered, self._keys, [TIME])
        old = np.concatenate(([0], np.cumsum(ordered[_PLACE].is_null().to_numpy(), dtype=np.int64)))
        return replace(parts, origins=parts.starts + old[parts.ends] - old[parts.starts])

    def _before(self, ordered: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
        """The totals before this round, for each of the ordered rows."""
        totals = self._totals.of(keys).drop(TIME)
        if not self._keys:
            nothing = pl.DataFrame({name: [None] for name in totals.columns}, schema=totals.schema)
            one = totals if totals.height else nothing
            return pl.DataFrame([column.new_from_index(0, ordered.height) for column in one])
        return ordered.select(self._keys).join(
            totals, on=self._keys, how="left", nulls_equal=True, maintain_order="left"
        )

    def _totals_now(
        self, ordered: pl.DataFrame, parts: Partitions, before: pl.DataFrame, order: Order
    ) -> dict[str, pl.Series]:
        """The totals after each of the ordered rows and its peers."""
        earlier = before[_ROWS].fill_null(0).to_numpy()
        earlier_times = before[_TIMES].fill_null(0).to_numpy()
        place = AnalyticItem("", AnalyticFunction.DENSE_RANK, INT)
        found = {
            _ROWS: pl.Series(earlier + parts.ends - parts.origins),
            _TIMES: pl.Series(earlier_times + place_of(place, parts)),
        }
        for number, item in enumerate(self._items):
            if _runs_on(item):
                assert item.frame is not None
                frame = parts.frame(item.frame, order)
                values = None if item.argument is None else ordered[f"@argument{number}"]
                found |= _running(number, item, values, frame, before)
        return found

    def _column(
        self,
        item: AnalyticItem,
        number: int,
        ordered: pl.DataFrame,
        parts: Partitions,
        order: Order,
        before: pl.DataFrame,
        totals: dict[str, pl.Series],
    ) -> pl.Series:
        if item.function in _PLACES:
            counted = _TIMES if item.function is AnalyticFunction.DENSE_RANK else _ROWS
            return pl.Series(place_of(item, parts)) + before[counted].fill_null(0)
        if not _runs_on(item):
            return item_column(item, number, ordered, parts, order)
        count = totals.get(f"@count{number}")
        match item.function:
            case AnalyticFunction.COUNT:
                assert count is not None
                return count
            case AnalyticFunction.STDEV | AnalyticFunction.VARIANCE:
                found = [totals[name].to_numpy() for name in _moment_names(number)]
                return deviations(item, np.stack(found))
            case AnalyticFunction.AVG:
                assert count is not None
                some = count.to_numpy()
                with np.errstate(divide="ignore", invalid="ignore"):
                    return finite(pl.Series(totals[f"@high{number}"].to_numpy() / some), some)
            case AnalyticFunction.SUM:
                assert count is not None
                name = f"@high{number}" if f"@high{number}" in totals else f"@sum{number}"
                return finite(totals[name], count.to_numpy())
            case _:
                return totals[f"@value{number}"]

    def _keep(
        self, ordered: pl.DataFrame, parts: Partitions, totals: dict[str, pl.Series], watermark: int
    ) -> None:
        place = np.arange(ordered.height, dtype=np.int64)
        last = pl.Series(parts.ends - 1 == place)
        self._totals.put(
            ordered.select(*self._keys, TIME)
            .with_columns(totals[name].alias(name) for name in self._total_names)
            .filter(last)
        )
        left = pl.Series(parts.ends - 1 - place)
        young = ordered[TIME] >= max(watermark - self._reach, INT_MINIMUM)
        kept = left < self._depth
        skipping = [
            number
            for number, item in enumerate(self._items)
            if item.ignore_nulls and item.function is AnalyticFunction.LAG
        ]
        for number in skipping:
            values = ordered[f"@argument{number}"]
            known = known_before(values)
            behind = known[parts.ends] - known[place]
            kept |= values.is_not_null() & pl.Series(behind <= self._items[number].offset)
        self._last.put(ordered.filter(kept | young if self._reach else kept))
        if self._reach and not self._depth and not skipping:
            self._last.expire(max(watermark - self._reach, INT_MINIMUM))
        check_kept(len(self._last) + len(self._totals))

    def _in_order(self, rows: pl.DataFrame, ordered: pl.DataFrame, found: list[pl.Series]) -> pl.DataFrame:
        """The tuples with their new columns, back from the order by partition to that of the stream."""
        shown = pl.DataFrame([ordered[_PLACE], *found]).filter(pl.col(_PLACE).is_not_null())
        back = np.empty(rows.height, np.int64)
        back[shown[_PLACE].to_numpy()] = np.arange(rows.height)
        added = gather(shown.drop(_PLACE), back)
        return frames.conform(rows.hstack(added), self._columns)

    def snapshot(self) -> dict[str, bytes]:
        return (
            self._waiting.snapshot("waiting") | self._last.snapshot("last") | self._totals.snapshot("totals")
        )

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._last.restore("last", panes)
        self._totals.restore("totals", panes)


# ---- totals of frames without a start --------------------------------------------------------------------------------


def _totals_of(number: int, item: AnalyticItem, argument: pl.DataType) -> frames.Dtypes:
    """The columns of an item's totals."""
    count: frames.Dtypes = {f"@count{number}": pl.Int64()}
    match item.function:
        case AnalyticFunction.STDEV | AnalyticFunction.VARIANCE:
            return dict.fromkeys(_moment_names(number), pl.Float64())
        case AnalyticFunction.COUNT:
            return count
        case AnalyticFunction.SUM if not argument.is_float():
            return count | {f"@sum{number}": pl.Int64()}
        case AnalyticFunction.SUM | AnalyticFunction.AVG:
            return count | {f"@high{number}": pl.Float64(), f"@low{number}": pl.Float64()}
        case AnalyticFunction.MIN | AnalyticFunction.MAX:
            return {f"@value{number}": argument}
        case _:
            return count | {f"@value{number}": argument}


def _moment_names(number: int) -> tuple[str, ...]:
    return tuple(f"@{part}{number}" for part in ("values", "sum", "rest", "squares", "others"))


def _running(
    number: int, item: AnalyticItem, values: pl.Series | None, frame: Range, before: pl.DataFrame
) -> dict[str, pl.Series]:
    """The totals of one item, from those before the round and the frames within it."""
    count_name, value_name = f"@count{number}", f"@value{number}"
    if item.function in (AnalyticFunction.MIN, AnalyticFunction.MAX):
        assert values is not None
        greatest = item.function is AnalyticFunction.MAX
        now, then = extremes(values, frame, greatest=greatest), before[value_name]
        better = (then > now) if greatest else (then < now)
        chosen = pl.when(now.is_null() | better.fill_null(False)).then(then).otherwise(now)
        return {value_name: pl.select(chosen).to_series()}
    if item.function in (AnalyticFunction.STDEV, AnalyticFunction.VARIANCE):
        assert values is not None
        names = _moment_names(number)
        earlier_moments = np.stack([before[name].fill_null(0.0).to_numpy() for name in names])
        added = added_moments(earlier_moments, moments(values, frame))
        return dict(zip(names, map(pl.Series, added), strict=True))
    earlier = before[count_name].fill_null(0).to_numpy()
    if item.function not in AGGREGATES:
        assert values is not None
        return _running_value(number, item, values, frame, before)
    count = counts(values, frame)
    found = {count_name: pl.Series(earlier + count)}
    if item.function is AnalyticFunction.COUNT or values is None:
        return found
    if f"@sum{number}" in before.columns:
        sums = before[f"@sum{number}"].fill_null(0).to_numpy()
        total = whole_sums(values, frame, sums, f"{item.function}({item.argument}) OVER")
        return found | {f"@sum{number}": pl.Series(total)}
    from nilometer.kernels.range_folds import added_pairs

    high, low = (before[f"@{part}{number}"].fill_null(0.0).to_numpy() for part in ("high", "low"))
    sums_of_round = float_sums(values, frame)
    high, low = added_pairs(high, low, sums_of_round[0], sums_of_round[1])
    return found | {f"@high{number}": pl.Series(high), f"@low{number}": pl.Series(low)}


def _running_value(
    number: int, item: AnalyticItem, values: pl.Series, frame: Range, before: pl.DataFrame
) -> dict[str, pl.Series]:
    """FIRST_VALUE and NTH_VALUE: the value of the n-th row of all; LAST_VALUE: of the frame's last row."""
    earlier = before[f"@count{number}"].fill_null(0)
    rows = pl.Series(counts(values if item.ignore_nulls else None, frame))
    total = {f"@count{number}": earlier + rows}
    if item.function is AnalyticFunction.LAST_VALUE:
        last = value_in_frame(item, values, frame)
        if item.ignore_nulls:
            last = pl.select(pl.coalesce(last, before[f"@value{number}"])).to_series()
        return total | {f"@value{number}": last}
    wanted = 1 if item.function is AnalyticFunction.FIRST_VALUE else item.offset
    from nilometer.operators.analytic.functions import taken

    low, high = frame
    if item.ignore_nulls:
        known = known_before(values)
        low, high, values = known[low], known[high], values.drop_nulls()
        if not len(values):
            return total | {f"@value{number}": before[f"@value{number}"]}
    place = low + wanted - 1 - earlier.to_numpy()
    now = taken(values, place, (place >= low) & (place < high))
    chosen = pl.when(earlier >= wanted).then(before[f"@value{number}"]).otherwise(now)
    return total | {f"@value{number}": pl.select(chosen).to_series()}
