"""The cost of a tuple with one table and with one for each stream (snjoin.txt section 7.1, Fig. 7), as
Fig. 14 draws it.

The constants are those of Fig. 13.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nilometer.laboratory.reproductions.verdict import measured

HASH, PROBE, COLLISION, SEPARATION, FORMATION = 26.25, 6.93, 0.24, 2.72, 5.7
"""C1 to C5 of Fig. 13."""
READINGS = 1_000
"""The number of readings of each sensor."""
DISTINCT_OF_ONE = 100
BUCKETS = 13
JOINING = 0.4
"""k', the share of the streams that join."""


@dataclass(frozen=True)
class Row:
    """Fig. 13's values for a number of streams: the selectivity of a value, and the distinct values of all
    streams together."""

    streams: int
    selectivity: float
    distinct: int


ROWS = (
    Row(5, 0.00130, 210),
    Row(10, 0.00129, 372),
    Row(15, 0.00122, 455),
    Row(20, 0.00116, 485),
    Row(25, 0.00112, 494),
)


Results = Callable[[Row], float]
"""How many results a tuple has."""


def product(row: Row) -> float:
    """The results one by one, as in Fig. 7: the product of the occurrences of a value in the other streams."""
    return float((row.selectivity * READINGS) ** (row.streams - 1))


def total(row: Row) -> float:
    """The lists that make them: the sum of these occurrences."""
    return row.selectivity * READINGS * (row.streams - 1)


def outer_mjoin(row: Row, results: Results = product) -> float:
    """MJoin's cost: every other table is probed, and every result has a cell for each stream."""
    others = row.streams - 1
    probes = others * (PROBE + COLLISION * DISTINCT_OF_ONE / BUCKETS)
    return HASH + probes + FORMATION * results(row) * row.streams


def snjoin(row: Row, joining: float = JOINING, results: Results = product) -> float:
    """SNJoin's cost: one table, whose list is separated by streams. A result has a stream and a time for each
    stream that joins."""
    separation = SEPARATION * row.streams * row.selectivity * READINGS
    formation = FORMATION * results(row) * 2 * row.streams * joining
    return HASH + COLLISION * row.distinct / BUCKETS + separation + formation


def factorised(row: Row) -> float:
    """Our cost: the list is the result. Nothing is separated or formed until it is asked for."""
    return HASH + COLLISION * row.distinct / BUCKETS


def snjoin_costs(plot: Path | None = None) -> dict[str, Any]:
    """Fig. 14's analytical curves, and the same with factorised results."""
    ours = ["streams  outer MJoin    SNJoin  factorised"]
    ours += [
        f"{row.streams:7} {outer_mjoin(row):12.1f} {snjoin(row):9.1f} {factorised(row):11.1f}" for row in ROWS
    ]
    if plot is not None:
        _draw(plot)
    return {
        "name": "snjoin-costs",
        "title": "SNJoin against the outer MJoin, analytically (Figs. 7, 13 and 14)",
        "figures": {
            "Fig. 14, analytical output delay": measured(
                "SNJoin is below the outer MJoin for every number of streams from 5 to 25, though 40 % of the streams join",
                "\n".join(ours),
                wins=snjoin(ROWS[-1]) < outer_mjoin(ROWS[-1]),
                everywhere=all(snjoin(row) < outer_mjoin(row) for row in ROWS),
            )
        },
        "assumptions": [
            "Fig. 13 prints no unit for its constants; nor does the text give Fig. 14's numbers",
            "Fig. 7 forms the product over k - 1 streams, the text over k: the figure is followed, for both joins",
            "the last column is not the paper's: what is left of SNJoin's cost when the product is never built",
        ],
    }


def _draw(path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot(title="Fig. 14, analytical", xlabel="streams", ylabel="cost of a tuple")
    streams = [row.streams for row in ROWS]
    for label, cost in (("outer MJoin", outer_mjoin), ("SNJoin", snjoin), ("factorised", factorised)):
        axes.plot(streams, [cost(row) for row in ROWS], marker="o", label=label)
    axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)
