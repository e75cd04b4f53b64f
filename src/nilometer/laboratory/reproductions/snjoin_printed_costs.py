"""Fig. 8d with the paper's own costs of a tuple: Fig. 7's formulas with Fig. 13's constants, in microseconds.

The paper prints the rate of its board (a reading of each sensor every 10 ms), and what a tuple costs its two joins; only
the unit of the costs is missing. With microseconds the server's load follows, and nothing is measured here but the
updates of phenomena in the readings that are left. Where readings are dropped, a window holds fewer, and a tuple costs less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from nilometer.kernels.arrays import Booleans
from nilometer.laboratory.baselines import Arrivals
from nilometer.laboratory.phenomenon_updates import Updates
from nilometer.laboratory.reproductions.snjoin_costs import (
    READINGS,
    ROWS,
    Results,
    Row,
    outer_mjoin,
    product,
    snjoin,
    total,
)
from nilometer.laboratory.reproductions.snjoin_server import Costs, serve
from nilometer.laboratory.reproductions.verdict import Ratio, measured, quotient
from nilometer.types import SECOND

SHARES = np.linspace(0.02, 1.0, 50)
"""Of the readings of a full window, those for which costs are computed."""
PAPER = 1.43


class Board(Protocol):
    """The readings of some sensors, and what a detector finds in a part of them."""

    @property
    def sensors(self) -> int: ...
    @property
    def seconds(self) -> int: ...
    @property
    def arrivals(self) -> Arrivals: ...
    def updates(self, seen: Booleans) -> Updates: ...


def printed_costs(row: Row, join: Callable[[Row], float]) -> Costs:
    """The costs of a tuple, by the readings in the window."""
    each = [join(replace(row, selectivity=row.selectivity * share)) for share in SHARES]
    return Costs(SHARES * row.streams * READINGS, np.array(each))


def by_printed_costs(boards: Sequence[Board], window: int) -> dict[str, Any]:
    """The updates that both joins detect on the board, and the ratio beside the paper's."""
    lines = ["sensors  results     load of MJoin, SNJoin  kept           updates/s        SNJoin over MJoin"]
    data: list[dict[str, Any]] = []
    rows = {row.streams: row for row in ROWS}
    for board in (each for each in boards if each.sensors in rows):
        true = board.updates(np.ones(len(board.arrivals), dtype=np.bool_))
        for results in (total, product):
            found = _found(board, rows[board.sensors], results, window, true)
            data.append(found)
            lines.append(
                f"{found['sensors']:7}  {found['results']:10}{found['load'][0]:13.2f}{found['load'][1]:9.2f}"
                f"{found['kept'][0]:10.1%}{found['kept'][1]:8.1%}{found['updates'][0]:9.1f}{found['updates'][1]:8.1f}"
                f"{found['ratio'] or 0:17.2f}"
            )
    sums = [each for each in data if each["results"] == "sums"]
    best = max((each["ratio"] for each in sums if each["ratio"] is not None), default=None)
    return measured(
        "SNJoin up to 43 % more than MJoin",
        "\n".join(lines),
        wins=bool(sums) and sums[-1]["updates"][1] > sums[-1]["updates"][0],
        everywhere=all(each["updates"][1] >= each["updates"][0] for each in sums),
        ratios=[Ratio("SNJoin over the outer MJoin, at best, by sums", PAPER, best)],
        data=data,
    )


def _found(board: Board, row: Row, results: Results, window: int, true: Updates) -> dict[str, Any]:
    """What both joins have time for, and what is detected in that."""
    rate = len(board.arrivals) / board.seconds
    costs = [
        printed_costs(row, lambda each: outer_mjoin(each, results)),
        printed_costs(row, lambda each: snjoin(each, results=results)),
    ]
    served = [serve(board.arrivals.times, each, window).admitted for each in costs]
    updates = [board.updates(each).found_of(true) / board.seconds for each in served]
    return {
        "sensors": board.sensors,
        "results": "sums" if results is total else "products",
        "load": [rate * each.at(rate * window / SECOND) / SECOND for each in costs],
        "kept": [float(each.mean()) for each in served],
        "updates": updates,
        "ratio": quotient(updates[1], updates[0]),
    }
