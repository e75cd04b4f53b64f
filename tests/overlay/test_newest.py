"""Bracket windows under ISTREAM as peers join them: a result exists if all its members were in their windows when the
last of them came. A gateway's own ISTREAM has these, and those of windows that stand still. A reason is given where
peers cannot."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.engine import Database
from nilometer.overlay.newest import NotNewestError, newest_in
from nilometer.overlay.overlaid import Conditions, join_of, plan_of, text_of, why_not
from nilometer.types import SECOND
from overlay.scenes import results

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = "".join(f"CREATE STREAM {name} (k INT, m INT, x FLOAT) PUSHED DELAY 1 MINUTE;" for name in "abc")
PAIR = """ISTREAM SELECT a.time AS s, b.time AS t, a.x + b.x AS sum FROM a [RANGE 5 SECONDS], b [RANGE 2 SECONDS]
  WHERE a.k = b.k AND a.x > 1"""
CHAIN = """ISTREAM SELECT a.time AS s, b.time AS t, c.time AS u FROM a [RANGE 4 SECONDS], b [RANGE 3 SECONDS],
  c [RANGE 2 SECONDS] WHERE a.k = b.k AND b.m = c.m AND c.x < 6"""


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


@pytest.fixture
def database() -> Database:
    found = nilometer.connect()
    found.execute(SCHEMA)
    return found


@pytest.mark.parametrize(
    ("text", "windows", "holds"),
    [
        (PAIR, {"a": 5, "b": 2}, lambda of: of["a"]["k"] == of["b"]["k"] and of["a"]["x"] > 1),
        (
            CHAIN,
            {"a": 4, "b": 3, "c": 2},
            lambda of: of["a"]["k"] == of["b"]["k"] and of["b"]["m"] == of["c"]["m"] and of["c"]["x"] < 6,
        ),
    ],
    ids=["pair", "chain"],
)
def test_a_result_has_members_in_their_windows(
    database: Database, text: str, windows: dict[str, int], holds: Callable[[dict[str, Any]], bool]
) -> None:
    random = Random(21)
    frames = {}
    for name in "abc":
        moments = [random.randrange(15 * SECOND) for _ in range(40)]
        rows = [
            {
                "id": 1,
                "time": one,
                "k": random.randrange(3),
                "m": random.randrange(3),
                "x": random.randrange(9) + 0.5,
            }
            for one in moments
        ]
        frames[name] = pl.DataFrame(rows)
        database.append(name, rows)
    newest = newest_in(database.sql(text).physical)
    assert newest is not None
    assert why_not(newest.node) is None
    conditions = Conditions()
    node = join_of(text_of(newest.node), database.catalog)  # as another peer reads it
    plan = conditions.know(node, newest.windows)
    assert plan == plan_of(newest.node, newest.windows)
    streams = {}
    for one in plan.inputs:
        rows = frames[one.stream].with_row_index("@position").with_columns(pl.col("time").alias("@time"))
        streams[one.stream] = conditions(one, rows.select("@position", "@time", *one.columns))
    found = {
        tuple(
            sorted(
                (one.stream, frames[one.stream].row(place, named=True)["time"])
                for one, place in zip(plan.inputs, row, strict=True)
            )
        )
        for row in results(plan, streams, 0)
    }
    expected = set()
    for rows in product(*(frames[name].to_dicts() for name in sorted(windows))):
        of = dict(zip(sorted(windows), rows, strict=True))
        last = max(row["time"] for row in rows)
        if holds(of) and all(last - row["time"] < windows[name] * SECOND for name, row in of.items()):
            expected.add(tuple((name, row["time"]) for name, row in of.items()))
    assert found == expected
    assert found
    own = {
        tuple((name, micros(row[column])) for name, column in zip(sorted(windows), "stu", strict=False))
        for row in database.sql(text).run()
    }
    assert found <= own


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "ISTREAM SELECT a.x FROM a [RANGE 5 SECONDS SLIDE 1 SECOND], b [RANGE 2 SECONDS] WHERE a.k = b.k",
            "SLIDE",
        ),
        ("ISTREAM SELECT a.x FROM a [RANGE 5 SECONDS], b [RANGE 2 SECONDS] WHERE a.k < b.k", "must hold"),
        ("ISTREAM SELECT a.x FROM a [RANGE 5 SECONDS] LEFT JOIN b [RANGE 2 SECONDS] ON a.k = b.k", "LEFT"),
    ],
)
def test_a_reason_is_given(database: Database, text: str, reason: str) -> None:
    with pytest.raises(NotNewestError, match=reason):
        newest_in(database.sql(text).physical)


def test_other_queries_are_not_meant(database: Database) -> None:
    for text in (
        "SELECT a.x FROM a [RANGE 5 SECONDS], b [RANGE 2 SECONDS] WHERE a.k = b.k",
        "SELECT x FROM a",
    ):
        assert newest_in(database.sql(text).physical) is None
