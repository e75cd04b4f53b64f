"""What the cost models say of a program before it is built, beside what it takes of a mote: time, RAM and flash of every site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nilometer.engine.motes import measurements, task_times
from nilometer.laboratory.mote_queries import MOTE_QUERIES, MoteQuery, measured

pytestmark = [pytest.mark.motes, pytest.mark.slow]

ERROR = 0.10
"""The largest error of an estimate after calibration, as a share of what was measured."""

TICK = 1000 / 1024
"""Milliseconds of the clock by which motes begin their tasks. Below it an error of a single task changes nothing: it is judged by
this. A site's tasks together are judged by their share, whatever they are."""

QUICK = (
    "running example",
    "aggregation (Q2)",
    "its aggregate, seldom",
    "its rows",
    "grouped FLOAT aggregate",
)
"""Those that every run of the tests measures."""


def cases() -> list[Any]:
    return [
        pytest.param(query, id=query.name, marks=[] if query.name in QUICK else [pytest.mark.long])
        for query in MOTE_QUERIES
    ]


@pytest.mark.parametrize("query", cases())
def test_estimates(query: MoteQuery, tmp_path: Path) -> None:
    emulation = measured(query, tmp_path)
    assert emulation.difference is None
    assert emulation.answer.rows, "an empty answer shows nothing"
    assert emulation.run.sound, [m for m in emulation.run.measured.values() if not m.sound]
    for row in measurements(emulation):
        for what in ("busy", "ram", "flash"):
            assert row[f"{what}_estimate"] == pytest.approx(row[what], rel=ERROR), (row["site"], what)
        assert row["busy"] <= row["reserved"], row["site"]
    for task in task_times(emulation):
        wrong = abs(task["estimate"] - task["took"])
        assert wrong <= max(ERROR * task["took"], TICK), task


def test_the_quick_ones_are_there() -> None:
    assert set(QUICK) <= {query.name for query in MOTE_QUERIES}
