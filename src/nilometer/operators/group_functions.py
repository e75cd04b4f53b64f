"""The aggregates that need all rows of a group: expressions for Polars' group_by, and what must stand beside them.

Some need a column that is computed for the whole frame first (`prepare`): the order of rows, the area under
each reading, buckets, hashes. Some need a last step over the answers (`finish`). The rest is one expression per group.
`plan/reference/aggregate_functions.py` says what each means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.expressions import Aggregate, Literal
from nilometer.operators.frames import dtype

ORDERED = frozenset({"first", "last", "arg_max", "arg_min", "array_agg", "string_agg"})
LISTS = frozenset({"array_agg", "string_agg"})
OVER_TIME = frozenset({"twa", "integral"})
PAIRS = frozenset({"corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"})
PATHS = frozenset({"area", "width"})
"""What TWA and INTEGRAL of one source consist of: value times microseconds, and microseconds."""
SKETCHES = frozenset({"approx_percentile", "approx_count_distinct"})
GROUP_FUNCTIONS = (
    ORDERED | OVER_TIME | PAIRS | SKETCHES | frozenset({"mode", "percentile_cont", "percentile_disc"})
)

SELECTIVE = frozenset({"first", "last", "arg_max", "arg_min", "min", "max"})
"""Aggregates that a few rows of the group decide, whatever the others are."""

_ARGUMENTS = {"arg_max": 2, "arg_min": 2, "string_agg": 2, "twa": 2, "integral": 2}
"""How many arguments stand before the columns that order the rows, where it is more than one."""


@dataclass(frozen=True)
class GroupItem:
    """An aggregate whose arguments are columns of the frame; a constant argument has no column."""

    name: str
    aggregate: Aggregate
    columns: tuple[str | None, ...]

    @property
    def values(self) -> pl.Expr:
        """The first argument."""
        return pl.col(self.columns[0] or "")

    @property
    def second(self) -> pl.Expr:
        """The second argument."""
        return pl.col(self.columns[1] or "")

    @property
    def constant(self) -> object:
        """The constant second argument."""
        literal = self.aggregate.rest[0]
        assert isinstance(literal, Literal)
        return literal.value

    @property
    def order(self) -> tuple[tuple[str, bool], ...]:
        """The columns that order the rows, each with whether its order is descending."""
        if self.aggregate.function not in ORDERED | OVER_TIME:
            return ()
        behind = self.columns[_ARGUMENTS.get(self.aggregate.function, 1) :]
        following = (*behind[1:], "")
        return tuple((name, mark is None) for name, mark in zip(behind, following, strict=False) if name)


# ---- before grouping -------------------------------------------------------------------------------------------------


def prepare(item: GroupItem, inputs: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """The frame with the columns that the item's expression reads."""
    function = item.aggregate.function
    if function in ORDERED and item.order and _place(item.order) not in inputs.columns:
        return inputs.with_columns(_places(inputs, item.order))
    if function in OVER_TIME and _area(item) not in inputs.columns:
        return _areas(item, inputs, groups)
    if function in SKETCHES and _sketched(item) in inputs.columns:
        return inputs
    if function in SKETCHES:
        column = inputs.get_column(item.columns[0] or "")
        return inputs.with_columns(sketch_of(function, column).alias(_sketched(item)))
    return inputs


def sketch_of(function: str, values: pl.Series) -> pl.Series:
    """The bucket of each value for APPROX_PERCENTILE, its (register, rank) pair for APPROX_COUNT_DISTINCT."""
    if function == "approx_percentile":
        from nilometer.kernels.buckets import buckets_of

        found = buckets_of(values.cast(pl.Float64).fill_null(0.0).to_numpy())
    else:
        from nilometer.kernels.hyper_log_log import pairs_of
        from nilometer.operators.value_hashes import hashes_of

        found = pairs_of(hashes_of(values)).astype(np.int64)
    return pl.select(pl.when(values.is_not_null()).then(pl.Series(found, dtype=pl.Int64))).to_series()


def read_sketch(function: str, found: pl.Series) -> pl.Series:
    """The answers: of a percentile's buckets their middles, of lists of pairs the estimated numbers."""
    if function == "approx_percentile":
        from nilometer.kernels.buckets import middles_of

        buckets = found.cast(pl.Int64)
        values = pl.Series(middles_of(buckets.fill_null(0).to_numpy()))
        return pl.select(pl.when(buckets.is_not_null()).then(values)).to_series()
    from nilometer.kernels.hyper_log_log import estimates

    lengths = found.list.len().fill_null(0).to_numpy()
    pairs = found.filter(pl.Series(lengths > 0)).explode().cast(pl.Int32).to_numpy()
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return pl.Series(estimates(pairs, offsets), dtype=pl.Int64)


def share_of(aggregate: Aggregate) -> float:
    """The constant share of a percentile."""
    share = aggregate.rest[0]
    assert isinstance(share, Literal)
    return float(share.value)


def _sketched(item: GroupItem) -> str:
    return f"@{item.aggregate.function}{item.columns[0]}"


Order = tuple[tuple[str, bool], ...]


def _place(order: Order) -> str:
    return f"@place{order}"


def _places(inputs: pl.DataFrame, order: Order) -> pl.Series:
    """The place of each row in the order, NULL last; equal rows have the same place."""
    names = [name for name, _ in order]
    descending = [reverse for _, reverse in order]
    ordered = inputs.select(list(dict.fromkeys(names))).with_row_index("@row")
    ordered = ordered.sort(names, descending=descending, nulls_last=True)
    changes = [~pl.col(name).eq_missing(pl.col(name).shift(1)) for name in names]
    ranked = ordered.with_columns(pl.any_horizontal(changes).cast(pl.Int64).cum_sum().alias("@rank"))
    return ranked.sort("@row").get_column("@rank").alias(_place(order))


def _areas(item: GroupItem, inputs: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """The frame with two columns: value x microseconds from each reading to the next one of its source in its
    group, and these microseconds; 0 for the last one."""
    value, (time, *sources) = item.columns[0] or "", (name for name, _ in item.order)
    alike = [*groups, *sources]
    keys = [f"@alike{place}" for place in range(len(alike))]
    readings = inputs.select(
        *(pl.col(name).alias(key) for name, key in zip(alike, keys, strict=True)),
        pl.col(time).alias("@from"),
        pl.col(value).cast(pl.Float64).alias("@held"),
    ).with_row_index("@row")
    readings = readings.filter(pl.col("@from").is_not_null() & pl.col("@held").is_not_null())
    readings = readings.sort([*keys, "@from", "@held"])
    same = (
        pl.all_horizontal(pl.lit(True), *(pl.col(key).eq_missing(pl.col(key).shift(-1)) for key in keys))
        & pl.col("@from").shift(-1).is_not_null()
    )
    width = pl.when(same).then(pl.col("@from").shift(-1) - pl.col("@from")).otherwise(0)
    following = pl.col("@held").shift(-1).fill_null(0.0)
    held = pl.col("@held") if item.constant == "STEP" else pl.col("@held") / 2 + following / 2
    readings = readings.select("@row", width.alias(_width(item)), (width * held).alias(_area(item)))
    together = inputs.with_row_index("@row").join(readings, on="@row", how="left", maintain_order="left")
    return together.drop("@row")


def _width(item: GroupItem) -> str:
    return f"@width{item.constant}{item.columns}"


def _area(item: GroupItem) -> str:
    return f"@area{item.constant}{item.columns}"


# ---- one group -------------------------------------------------------------------------------------------------------


def value(item: GroupItem) -> pl.Expr:
    """The aggregate of one group, before `finish`."""
    function = item.aggregate.function
    if function in PAIRS:
        return _of_pairs(function, item.values, item.second)
    return _VALUES[function](item)


def chosen(item: GroupItem) -> pl.Expr:
    """Which rows of its group decide a FIRST, LAST, ARG_MAX, ARG_MIN, MIN or MAX; equal rows all do."""
    known = item.values.is_not_null()
    match item.aggregate.function:
        case "min":
            return item.values == item.values.min()
        case "max":
            return item.values == item.values.max()
        case "first":
            place = pl.col(_place(item.order))
            return known & (place == place.filter(known).min())
        case "last":
            place = pl.col(_place(item.order))
            return known & (place == place.filter(known).max())
    known = known & item.second.is_not_null()
    candidates = item.second.filter(known)
    best = candidates.max() if item.aggregate.function == "arg_max" else candidates.min()
    found = known & (item.second == best)
    if not item.order:
        return found
    place = pl.col(_place(item.order))
    return found & (place == place.filter(found).min())


def _least_chosen(item: GroupItem) -> pl.Expr:
    return item.values.filter(chosen(item)).min()


def _listed(item: GroupItem) -> pl.Expr:
    known = item.values.is_not_null()
    values = item.values.filter(known)
    if item.aggregate.distinct:
        return values.unique().sort()
    if not item.order:
        return values.sort()
    return values.sort_by([pl.col(_place(item.order)).filter(known), values])


def _percentile_disc(item: GroupItem) -> pl.Expr:
    return _of_rank(item.values.drop_nulls(), share_of(item.aggregate))


def _of_rank(values: pl.Expr, share: float) -> pl.Expr:
    rank = (values.len().cast(pl.Float64) * share - 1e-9).ceil().cast(pl.Int64) - 1
    return values.sort().get(pl.max_horizontal(rank, 0), null_on_oob=True)


def _twa(item: GroupItem) -> pl.Expr:
    width = pl.col(_width(item)).sum()
    known = pl.col(_width(item)).is_not_null()
    plain = item.values.filter(known).cast(pl.Float64).mean()
    return pl.when(width > 0).then(pl.col(_area(item)).sum() / width).otherwise(plain)


def _integral(item: GroupItem) -> pl.Expr:
    area = pl.col(_area(item))
    return pl.when(area.count() > 0).then(area.sum() / 1e6)


_VALUES: dict[str, Callable[[GroupItem], pl.Expr]] = {
    "first": _least_chosen,
    "last": lambda item: item.values.filter(chosen(item)).max(),
    "arg_max": _least_chosen,
    "arg_min": _least_chosen,
    "array_agg": _listed,
    "string_agg": lambda item: pl.when(item.values.count() > 0).then(
        _listed(item).str.join(str(item.constant))
    ),
    "mode": lambda item: item.values.drop_nulls().mode().min(),
    "percentile_cont": lambda item: (
        item.values.drop_nulls().cast(pl.Float64).quantile(share_of(item.aggregate), "linear")
    ),
    "percentile_disc": _percentile_disc,
    "approx_percentile": lambda item: _of_rank(
        pl.col(_sketched(item)).drop_nulls(), share_of(item.aggregate)
    ),
    "approx_count_distinct": lambda item: pl.col(_sketched(item)).drop_nulls().unique(),
    "twa": _twa,
    "integral": _integral,
}

MANY_VALUES = frozenset({"array_agg", "approx_count_distinct"})
"""Their expression gives several values per group: a list."""


def _of_pairs(function: str, one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Two passes over values relative to the group's least: digits that all of them share are not lost."""
    known = one.is_not_null() & other.is_not_null()
    ones, others = one.filter(known), other.filter(known)
    count = ones.len()
    near, near_other = ((v - v.min()).cast(pl.Float64) for v in (ones, others))
    centred, centred_other = near - near.mean(), near_other - near_other.mean()
    both = (centred * centred_other).sum()
    squares, other_squares = (centred * centred).sum(), (centred_other * centred_other).sum()
    varies, other_varies = squares > 0, other_squares > 0
    match function:
        case "corr":
            return pl.when(varies & other_varies).then(both / squares.sqrt() / other_squares.sqrt())
        case "covar_pop":
            return pl.when(count > 0).then(both / count)
        case "covar_samp":
            return pl.when(count > 1).then(both / (count.cast(pl.Int64) - 1))
        case "regr_slope":
            return pl.when(other_varies).then(both / other_squares)
        case "regr_intercept":
            mean, other_mean = ones.min() + near.mean(), others.min() + near_other.mean()
            return pl.when(other_varies).then(mean - both / other_squares * other_mean)
        case _:
            share = pl.when(varies).then(both / squares * (both / other_squares)).otherwise(1.0)
            return pl.when(other_varies).then(share)


# ---- after grouping --------------------------------------------------------------------------------------------------


def finish(item: GroupItem, found: pl.Series) -> pl.Series:
    """The answers, one per group."""
    match item.aggregate.function:
        case "array_agg":
            empty = found.list.len() == 0
            return pl.select(pl.when(~empty).then(found)).to_series().cast(dtype(item.aggregate.type))
        case "approx_percentile" | "approx_count_distinct" as function:
            return read_sketch(function, found)
    return found
