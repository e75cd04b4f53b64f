"""EXPLAIN says how much the operators of phenomena keep at most, and they keep no more."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import nilometer
from nilometer.dataflow.lowering.table_functions import spec_of
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Progress
from nilometer.optimizer.phenomenon_state import rows_of_source
from nilometer.plan import physical
from nilometer.types import SECOND


def database(sensors: int = 3, rate: str = "EXPECT EVERY 1 SECOND") -> nilometer.Database:
    made = nilometer.connect()
    made.execute(f"CREATE STREAM air (v FLOAT) PUSHED {rate}")
    for sensor in range(sensors):
        made.execute(f"CREATE SENSOR {sensor} OF air AT ({sensor}, 0)")
    return made


def bounds(text: str, made: nilometer.Database) -> list[str]:
    lines = made.sql(f"SELECT * FROM {text}").explain("physical").splitlines()
    return [line.removeprefix("-- state of ").split(";")[0] for line in lines if "state of" in line]


def test_each_operator_prints_its_bound() -> None:
    assert bounds("PHENOMENA(ON air.v ABOVE 2 RANGE 6 SECONDS SLIDE 2 SECONDS)", database()) == [
        "PH_TRACK: at most 3 sources x (1 candidate x 64 + 64 bytes) = 384 bytes",
        "PH_CANDIDATES: at most 3 sources x (3 slices x 56 + 64 bytes) = 696 bytes",
    ]
    assert bounds("CURRENT(ON air.v WITHIN 1 RANGE 6 SECONDS)", database()) == [
        "PH_CURRENT: at most 3 sources x (6 readings x 16 + 64 bytes) = 480 bytes",
        "PH_CANDIDATES: at most 3 sources x 64 bytes = 192 bytes",
    ]
    assert bounds("SUMMARY(ON air.v ABOVE 2 RANGE 2 SECONDS)", database())[1].startswith(
        "PH_TOTALS: at most 3 sources x (4 slices x 56"
    )


def test_a_bound_without_what_it_needs_says_so() -> None:
    unknown = database(0, "")
    assert bounds("PHENOMENA(ON air.v ABOVE 2 RANGE 6 SECONDS SLIDE 2 SECONDS)", unknown)[1].endswith(
        "(3 slices x 56 + 64 bytes) for each source that is heard"
    )
    equal = "PHENOMENA(ON air.v EQUAL RANGE 6 SECONDS SLIDE 2 SECONDS)"
    assert "EXPECT EVERY declares" in unknown.sql(f"SELECT * FROM {equal}").explain("physical")


def test_more_members_than_sensors() -> None:
    text = "SELECT * FROM PHENOMENA(ON air.v ABOVE 2 RANGE 6 SECONDS MEMBERS {})"
    assert "MEMBERS 4 is more than the 3 sensors of 'air'" in database().sql(text.format(4)).explain(
        "physical"
    )
    assert "MEMBERS" not in "".join(
        line for line in database().sql(text.format(3)).explain("physical").splitlines() if "warning" in line
    )
    assert "warning" not in database(0).sql(text.format(4)).explain("physical"), "nobody knows how many"


@pytest.mark.parametrize(
    "text",
    [
        "ABOVE 2 RANGE 6 SECONDS SLIDE 2 SECONDS",
        "ABOVE 2 RANGE 7 SECONDS SLIDE 3 SECONDS",
        "BUCKET 1 RANGE 7 SECONDS SLIDE 3 SECONDS",
        "EQUAL RANGE 2 SECONDS",
    ],
)
def test_no_more_is_kept(text: str) -> None:
    query = database().sql(f"SELECT * FROM PHENOMENA(ON air.v {text})")
    node = next(each for each in physical.walk_plan(query.physical) if each.operator == "PH_CANDIDATES")
    assert isinstance(node, physical.TableFunction)
    logic, most = spec_of(node).build(), 3 * rows_of_source(node.call, SECOND)
    value, place = node.call.columns
    random = np.random.default_rng(1)
    kept = []
    for second in range(40):
        rows = pl.DataFrame(
            {
                TICK: np.full(3, second * SECOND),
                TIME: np.full(3, second * SECOND),
                ID: np.arange(3),
                POSITION: np.arange(3) + 3 * second,
                value: random.integers(0, 6, 3).astype(float),
                place: [{"x": 0.0, "y": 0.0}] * 3,
            }
        )
        logic.update(0, rows)
        logic.advance(Progress(watermark=second * SECOND + 1, first_tick=0))
        kept.append(len(logic._index.keys))  # type: ignore[attr-defined]
    assert 0 < max(kept) <= most
