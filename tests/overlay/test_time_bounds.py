"""Windows of each stream, and times that are compared, as peers join within them: the results of the join that peers
read from the wire are the reference's and the gateway's. A note names what peers join instead of ISTREAM."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random

import polars as pl
import pytest

import nilometer
from nilometer.engine import Database
from nilometer.overlay.no_join import no_join
from nilometer.overlay.overlaid import Conditions, join_in, join_of, plan_of, text_of, why_not
from nilometer.types import SECOND
from overlay.scenes import results

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = "".join(f"CREATE STREAM {name} (k INT, m INT, x FLOAT) PUSHED DELAY 1 MINUTE;" for name in "abc")
PAIR = "SELECT a.time AS s, b.time AS t FROM a, b {} a.k = b.k AND a.x > 1"
CHAIN = "SELECT a.time AS s, b.time AS t, c.time AS u FROM a, b, c {} a.k = b.k AND b.m = c.m AND c.x < 6"
OWN = "WINDOW(a) = 5 SECONDS AND WINDOW(b) = 2 SECONDS"
BETWEEN = "b.time BETWEEN a.time - 2 SECONDS AND a.time + 5 SECONDS"
LATER = "b.time - a.time > 2 SECONDS AND b.time < a.time + 5 SECONDS"


@pytest.fixture
def database() -> Database:
    found = nilometer.connect()
    found.execute(SCHEMA)
    return found


@pytest.mark.parametrize(
    ("text", "later"),
    [
        (PAIR.format(f"{OWN} WHERE"), {"ab": (-2, 5)}),
        (PAIR.format(f"WHERE {BETWEEN} AND"), {"ab": (-2, 5)}),
        (PAIR.format(f"WHERE {LATER} AND"), {"ab": (2.000001, 4.999999)}),
        (PAIR.format("WHERE abs(a.time - b.time) < 2 SECONDS AND"), {"ab": (-1.999999, 1.999999)}),
        (
            CHAIN.format(f"{OWN} AND WINDOW(c) = 0 SECONDS WHERE"),
            {"ab": (-2, 5), "ac": (0, 5), "bc": (0, 2)},
        ),
        (
            CHAIN.format("WINDOW(a, b) = 3 SECONDS AND WINDOW(b, c) = 4 SECONDS WHERE b.time >= a.time AND"),
            {"ab": (0, 3), "bc": (-4, 4)},
        ),
    ],
    ids=["own windows", "between", "strict, and later", "abs", "own windows of a chain", "one direction"],
)
def test_peers_join_within_the_bounds(
    database: Database, text: str, later: dict[str, tuple[float, float]]
) -> None:
    random = Random(21)
    frames = {}
    for name in "abc":
        # Whole seconds, too, where the ends of windows decide.
        moments = [random.randrange(15) * SECOND + random.choice((0, 0, 1, 999_999)) for _ in range(40)]
        rows = [
            {
                "id": 1,
                "time": one,
                "k": random.randrange(3),
                "m": random.randrange(3),
                "x": random.random() * 9,
            }
            for one in moments
        ]
        frames[name] = pl.DataFrame(rows)
        database.append(name, rows)
    asked = join_in(database.sql(text).physical)
    assert asked is not None
    assert why_not(asked) is None
    conditions = Conditions()
    plan = conditions.know(join_of(text_of(asked), database.catalog))  # as another peer reads it
    assert plan == plan_of(asked)
    streams = {}
    for one in plan.inputs:
        rows = frames[one.stream].with_row_index("@position").with_columns(pl.col("time").alias("@time"))
        streams[one.stream] = conditions(one, rows.select("@position", "@time", *one.columns))
    names = [one.stream for one in plan.inputs]
    found = sorted(
        tuple(frames[name]["time"][at] for name, at in sorted(zip(names, row, strict=True)))
        for row in results(plan, streams, 0)
    )
    expected = []
    for members in product(*(frames[name].to_dicts() for name in sorted(names))):
        of = dict(zip(sorted(names), members, strict=True))
        near = all(
            round(low * SECOND) <= of[pair[1]]["time"] - of[pair[0]]["time"] <= round(high * SECOND)
            for pair, (low, high) in later.items()
        )
        equal = of["a"]["k"] == of["b"]["k"] and ("c" not in of or of["b"]["m"] == of["c"]["m"])
        if near and equal and (of["c"]["x"] < 6 if "c" in of else of["a"]["x"] > 1):
            expected.append(tuple(member["time"] for member in members))
    assert found == sorted(expected)
    assert found
    gateway = sorted(
        tuple((row[column] - EPOCH) // timedelta(microseconds=1) for column in "stu"[: len(names)])
        for row in database.sql(text).run()
    )
    assert gateway == found


@pytest.mark.parametrize(
    "condition",
    ["a.x < b.x", "b.time - a.time <= 5 SECONDS OR a.x > 3", "c.time <= a.time + 2 * (b.time - a.time)"],
)
def test_other_conditions_are_not_for_peers(database: Database, condition: str) -> None:
    text = f"SELECT a.x FROM a, b, c WINDOW = 9 SECONDS WHERE a.k = b.k AND b.k = c.k AND ({condition})"
    asked = join_in(database.sql(text).physical)
    assert asked is not None
    assert (
        why_not(asked)
        == "it has a condition on several streams that is neither an equality nor a bound on times"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "ISTREAM SELECT A.x FROM a A [RANGE 5 SECONDS], b [RANGE 2 MINUTES] WHERE A.k = b.k",
            "ISTREAM depends on when each stream pauses; peers would join within "
            "WINDOW(A) = 5 SECONDS AND WINDOW(b) = 2 MINUTES",
        ),
        (
            "ISTREAM SELECT a.x FROM a [RANGE 5 SECONDS SLIDE 1 SECOND], b [RANGE 2 SECONDS] WHERE a.k = b.k",
            "it is no join by WINDOW",
        ),
        (
            "SELECT a.x FROM a [RANGE 5 SECONDS], b [RANGE 2 SECONDS] WHERE a.k = b.k",
            "it is no join by WINDOW",
        ),
        ("SELECT x FROM a", "it is no join by WINDOW"),
    ],
)
def test_the_reason_names_the_alternative(database: Database, text: str, reason: str) -> None:
    assert no_join(database.sql(text).physical) == reason
