"""What the cost models say of a program before it is built, beside what it takes of a mote: time, RAM and flash of every site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nilometer.laboratory.mote_queries import MOTE_QUERIES, MoteQuery, measured
from sensornet.motes.emulated import check_estimates, tried

pytestmark = [pytest.mark.motes, pytest.mark.slow]

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
    check_estimates(measured(query, tmp_path))


def test_the_quick_ones_are_there() -> None:
    assert set(QUICK) <= {query.name for query in MOTE_QUERIES}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, SUM(sqrt(moisture * rain) / (temp + 1.5)) AS m, MIN(temp / 3.0) AS t FROM River [RANGE 5 ROWS SLIDE 3 ROWS] GROUP BY id",
        "SELECT moisture / 3.3 / 4.4 / 5.5 / 6.6 AS m, sqrt(sqrt(depth)) AS d FROM River [NOW]",
    ],
)
def test_divisions_of_floats_and_roots_have_the_time_that_they_take(text: str, tmp_path: Path) -> None:
    trial = tried(text, tmp_path, beta=4, periods=3)
    assert trial.emulation.difference is None
    assert trial.emulation.run.sound, [m for m in trial.emulation.run.measured.values() if not m.sound]
    if "GROUP" not in text:  # where rows share groups, less is done than is planned
        check_estimates(trial.emulation)
