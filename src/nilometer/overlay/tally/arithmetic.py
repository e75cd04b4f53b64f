"""Counts and sums per key -> the aggregates of a join, none of whose rows is made.

A key with l rows on one side and r on the other has l x r joined rows; so a sum of the left side counts r times, and
least and greatest values stay as they are. `parts` gives one row per bucket and group, `merged` one per group of all
buckets. Sums of INTs have 128 bits, on the wire two columns; so only an answer can be too large for an INT.

>>> from nilometer.overlay.tally.tally_plan import Item, Side
>>> plan = TallyPlan(
...     (Side("X", 5, ("a0",)), Side("Y", 5)), 1, 1, "b", (), (Item("count"), Item("sum", 0, "a0", True))
... )
>>> x = pl.DataFrame({KEY: [9, 9, 9], JOINED: [1, 1, 2], "a0": [10, 20, 40]})
>>> y = pl.DataFrame({KEY: [9, 9, 9], JOINED: [1, 1, 3]})
>>> found = parts(plan, [x, y])
>>> merged(plan, found).select(ROWS, "sum1").rows()
[(4, 60)]
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from nilometer.overlay.names import KEY
from nilometer.overlay.tally.tally_plan import JOINED, Item, TallyPlan

ROWS = "rows"
"""The number of joined rows."""
_WHOLE = pl.Int128()
_STEP = pl.lit(1 << 32, dtype=_WHOLE)


def group_names(plan: TallyPlan) -> list[str]:
    """The columns of GROUP BY in results."""
    return [f"group{at}" for at in range(len(plan.groups))]


def parts(plan: TallyPlan, windows: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The aggregates of each bucket and group, from the rows of each side's window."""
    joined = _side(plan, 0, windows[0])
    for at in range(1, len(windows)):
        joined = joined.join(_side(plan, at, windows[at]), on=[KEY, JOINED], how="inner")
    counts = [pl.col(f"n{at}").cast(_WHOLE) for at in range(len(windows))]
    rows = counts[0]
    for count in counts[1:]:
        rows = rows * count
    joined = joined.with_columns(rows.alias(ROWS))
    names = group_names(plan)
    added = [pl.col(ROWS).sum()]
    for at, item in enumerate(plan.items):
        if item.column is not None:
            # How many rows of the other sides each row of this side meets.
            weight = pl.col(ROWS) // pl.col(f"n{item.side}").cast(_WHOLE)
            added += _weighed(at, item, weight)
    if not joined.height:
        joined = joined.clear()
    found = joined.group_by([KEY, *names], maintain_order=True).agg(added)
    return _on_the_wire(found)


def merged(plan: TallyPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """The aggregates of each group, from those of all buckets: `rows`, and per item `count<i>` and its value."""
    names = group_names(plan)
    added = [_whole_sum(ROWS)]
    for at, item in enumerate(plan.items):
        if item.column is None:
            continue
        added.append(_whole_sum(f"count{at}"))
        if item.function == "sum":
            added.append(_whole_sum(f"sum{at}") if item.whole else pl.col(f"sum{at}").sum())
        elif item.function == "min":
            added.append(pl.col(f"min{at}").min())
        elif item.function == "max":
            added.append(pl.col(f"max{at}").max())
    if not names:
        return rows.select(added)
    return rows.group_by(names, maintain_order=True).agg(added).filter(pl.col(ROWS) > 0)


def _side(plan: TallyPlan, at: int, rows: pl.DataFrame) -> pl.DataFrame:
    """One side's counts and sums by key and group."""
    groups = [
        pl.col(group.column).alias(f"group{n}") for n, group in enumerate(plan.groups) if group.side == at
    ]
    added = [pl.len().alias(f"n{at}")]
    for n, item in enumerate(plan.items):
        if item.side != at or item.column is None:
            continue
        column = pl.col(item.column)
        added.append(column.count().alias(f"count{n}"))
        if item.function == "sum":
            added.append((column.cast(_WHOLE) if item.whole else column).sum().alias(f"sum{n}"))
        elif item.function == "min":
            added.append(column.min().alias(f"min{n}"))
        elif item.function == "max":
            added.append(column.max().alias(f"max{n}"))
    return rows.group_by([KEY, JOINED, *groups], maintain_order=True).agg(added)


def _weighed(at: int, item: Item, weight: pl.Expr) -> list[pl.Expr]:
    found = [(pl.col(f"count{at}").cast(_WHOLE) * weight).sum().alias(f"count{at}")]
    if item.function == "sum":
        factor = weight if item.whole else weight.cast(pl.Float64)
        found.append((pl.col(f"sum{at}") * factor).sum().alias(f"sum{at}"))
    elif item.function == "min":
        found.append(pl.col(f"min{at}").min())
    elif item.function == "max":
        found.append(pl.col(f"max{at}").max())
    return found


def _on_the_wire(found: pl.DataFrame) -> pl.DataFrame:
    """Numbers of 128 bits become two columns of 64."""
    wholes = [name for name, kind in found.schema.items() if kind == _WHOLE]
    halves = [
        half
        for name in wholes
        for half in (
            (pl.col(name) // _STEP).cast(pl.Int64).alias(f"{name}.high"),
            (pl.col(name) % _STEP).cast(pl.Int64).alias(f"{name}.low"),
        )
    ]
    return found.with_columns(halves).drop(wholes)


def _whole_sum(name: str) -> pl.Expr:
    high, low = (pl.col(f"{name}.{half}").cast(_WHOLE).sum() for half in ("high", "low"))
    return (high * _STEP + low).alias(name)
