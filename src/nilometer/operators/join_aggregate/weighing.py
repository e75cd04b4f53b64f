"""Partial aggregates of joined rows: those of one input, weighted by how many rows of the others each of its
rows meets.

    COUNT, SUM   times the weight, then added
    MIN, MAX     unchanged
    variance     (n w, mean, squares w), then merged

A row that meets w rows occurs w times in the join. Counts of joined rows fit 64 bits (`check_counts`), so
sums of INTs fit 128. Means are merged as differences to the first, so that digits shared by all of them are
not lost (Chan, Golub, LeVeque 1979).
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from nilometer.operators.evaluate.overflow import overflow_in
from nilometer.operators.logic import TICK
from nilometer.operators.window_aggregate.components import MAXIMUM, MINIMUM, MOMENTS, ROWS, SUMS, Component
from nilometer.types import INT_MAXIMUM

WHOLE: pl.DataType = pl.Int128()
_STEP = pl.lit(1 << 32, dtype=WHOLE)


class Weighed:
    """The components of one input, as columns `prefix + name`."""

    def __init__(self, prefix: str, components: Iterable[Component]) -> None:
        held = {c.name: c for c in components}
        # Here the two halves of a SUM of INTs are one number of 128 bits.
        self._wholes = [name.removeprefix("high") for name in held if name.startswith("high")]
        self._counts = [name for name in held if name.startswith("count")]
        self._sums = [name for name, c in held.items() if c.operation == SUMS]
        self._least = [name for name, c in held.items() if c.operation == MINIMUM]
        self._most = [name for name, c in held.items() if c.operation == MAXIMUM]
        self._moments = [name for name, c in held.items() if c.operation == MOMENTS]
        self._prefix = prefix
        self._kinds = {name: pl.Int64() if c.dtype == "int64" else pl.Float64() for name, c in held.items()}

    @property
    def dtypes(self) -> dict[str, pl.DataType]:
        """All columns, with their types, as the joins carry them."""
        return {name: self._dtype(name.removeprefix(self._prefix)) for name in self.names}

    def _dtype(self, name: str) -> pl.DataType:
        if name.startswith("whole"):
            return WHOLE
        return self._kinds.get(name, pl.Float64())

    @property
    def names(self) -> list[str]:
        """All columns."""
        return [
            *(self._prefix + name for name in (*self._counts, *self._least, *self._most)),
            *(f"{self._prefix}whole{number}" for number in self._wholes),
            *(f"{self._prefix}{name}.{part}" for name in self._sums for part in ("high", "low")),
            *(
                f"{self._prefix}{name}.{part}"
                for name in self._moments
                for part in ("n", "mean", "low", "squares")
            ),
        ]

    def begun(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Converts the components of an input to the form in which the joins carry them."""
        wholes = [
            (
                pl.col(f"{self._prefix}high{n}").cast(WHOLE) * _STEP
                + pl.col(f"{self._prefix}low{n}").cast(WHOLE)
            ).alias(f"{self._prefix}whole{n}")
            for n in self._wholes
        ]
        return rows.with_columns(*wholes)

    def weighed(self, weight: pl.Expr) -> list[pl.Expr]:
        """Expressions that count each row `weight` times."""
        real = weight.cast(pl.Float64)
        counts = [pl.col(self._prefix + name) * weight for name in self._counts]
        wholes = [pl.col(f"{self._prefix}whole{n}") * weight.cast(WHOLE) for n in self._wholes]
        sums = [
            pl.col(f"{self._prefix}{name}.{part}") * real for name in self._sums for part in ("high", "low")
        ]
        moments = [
            pl.col(f"{self._prefix}{name}.{part}") * real
            for name in self._moments
            for part in ("n", "squares")
        ]
        return counts + wholes + sums + moments

    def added(self) -> list[pl.Expr]:
        """Expressions that merge the partials of a group into one."""
        prefix = self._prefix
        added = [pl.col(prefix + name).sum() for name in self._counts]
        added += [pl.col(f"{prefix}whole{n}").sum() for n in self._wholes]
        added += [pl.col(f"{prefix}{name}.{part}").sum() for name in self._sums for part in ("high", "low")]
        added += [pl.col(prefix + name).min() for name in self._least]
        added += [pl.col(prefix + name).max() for name in self._most]
        for name in self._moments:
            added += _merged(prefix + name)
        return added


def _merged(name: str) -> list[pl.Expr]:
    n, mean, low, squares = (pl.col(f"{name}.{part}") for part in ("n", "mean", "low", "squares"))
    first = mean.filter(n > 0).first()
    away = (mean - first) + low
    between = (away * n).sum() / n.sum()
    there = n.sum() > 0
    return [
        n.sum(),
        pl.when(there).then(first).otherwise(0.0).alias(f"{name}.mean"),
        pl.when(there).then(between).otherwise(0.0).alias(f"{name}.low"),
        pl.when(there)
        .then(squares.sum() + (pl.when(n > 0).then(n * (away - between) ** 2).otherwise(0.0)).sum())
        .otherwise(0.0)
        .alias(f"{name}.squares"),
    ]


def check_counts(pairs: pl.DataFrame, left: str, right: str) -> None:
    """Refuses a join with more rows at one tick than an INT can count."""
    expected = pairs.select(TICK, (pl.col(left).cast(pl.Float64) * pl.col(right)).alias(ROWS))
    if float(expected.get_column(ROWS).sum()) < INT_MAXIMUM / 2:
        return
    most = expected.group_by(TICK).agg(pl.col(ROWS).sum()).get_column(ROWS).max()
    if float(most) >= INT_MAXIMUM:  # type: ignore[arg-type]
        raise overflow_in("COUNT(*) of a join")
