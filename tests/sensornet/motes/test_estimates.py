"""What the cost models say of a program before it is built, beside what it takes of a mote: time, RAM and flash of every site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nilometer.laboratory.mote_queries import MOTE_QUERIES, MoteQuery, measured
from sensornet.motes.emulated import check_estimates

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
