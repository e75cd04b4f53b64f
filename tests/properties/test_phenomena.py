"""Phenomena of random fields: found step by step they are those that the reference recomputes at every evaluation.

Readings come out of order, at equal times, NULL and from sensors that come, go, move and have no place.
"""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from dataflow.pushed import run_pushed
from nilometer.engine.gateway import DatabaseSources, run_on_gateway
from nilometer.language import parse, print_statement
from nilometer.plan.explain import explain_text, parse_physical_plan, parse_plan
from nilometer.plan.reference import same_answer
from nilometer.spark.layout import lay_out
from nilometer.types import SECOND
from properties.test_hosts_agree import LONG, RELAXED
from spark.layout.pipeline import Pipeline

LIKENESSES = (
    "EQUAL",
    "BUCKET 2",
    "BUCKET 2 FROM 1",
    "ABOVE 2",
    "BELOW 2",
    "BETWEEN 1 AND 3",
    "RISING 1 PER 2 SECONDS",
    "FALLING 1 PER 1 SECOND",
    "WITHIN 1",
    "WITHIN 0",
)
NEIGHBOURS = (
    "",
    "NEIGHBOURS ALL",
    "NEIGHBOURS WITHIN {reach}",
    "NEIGHBOURS WITHIN {reach}",
    "NEIGHBOURS BY near",
    "NEIGHBOURS WITHIN 0",
)
REGIONS = ("", "", "", "REGION CONCAVE 0.3", "REGION HULL BUFFER {reach}", "REGION CONCAVE 0 BUFFER {reach}")
VALUES = {
    "INT": (None, 0, 1, 2, 3, 4, 5),
    "FLOAT": (
        None,
        0.0,
        -0.0,
        1.0,
        2.0,
        2.5,
        3.0,
        0.1,
        0.2,
        4.0,
        5.0,
        -1.5,
        float("nan"),
        float("inf"),
        float("-inf"),
    ),
    "STRING": (None, "", "a", "b", "A/b", "ä"),
    "BOOLEAN": (None, True, False),
}
COORDINATES = {
    "": ("1", "1.5", "2"),
    "COORDINATES 'm'": ("1", "150 CM", "2 M"),
    "COORDINATES WGS84": ("120 KM", "158 KM", "260000"),
}


@st.composite
def fields(draw: Any) -> tuple[str, str, str, list[dict[str, Any]], list[tuple[int, int]]]:
    """Coordinates, a type of values, a query, readings and pairs of neighbours."""
    coordinates = draw(st.sampled_from(sorted(COORDINATES)))
    reach = draw(st.sampled_from(COORDINATES[coordinates]))
    kind = draw(st.sampled_from(("INT", "INT", "FLOAT", "FLOAT", "STRING", "BOOLEAN")))
    numbers = kind in ("INT", "FLOAT")
    parts = [
        f"ON air.v {draw(st.sampled_from(LIKENESSES)) if numbers else 'EQUAL'}",
        f"RANGE {draw(st.integers(1, 9))} SECONDS SLIDE {draw(st.integers(1, 3))} SECONDS",
        draw(st.sampled_from(("", "STRENGTH 1", "STRENGTH 2"))),
        draw(st.sampled_from(NEIGHBOURS)).format(reach=reach),
        draw(st.sampled_from(("", "MEMBERS 1", "MEMBERS 3"))),
        draw(st.sampled_from(("", f"CONTINUE WITHIN {reach}"))),
        draw(st.sampled_from(("", "", "PRECISION 1 SPEED 2 PER 1 SECOND STEADY 3 GROWTH 1", "GROWTH 0"))),
        draw(st.sampled_from(REGIONS)).format(reach=reach),
        "LOCATED AT place",
        draw(st.sampled_from(("", "WHERE v <> 4" if numbers else "WHERE id <> 4"))),
    ]
    if not draw(st.integers(0, 3)):
        # By the readings that a sensor has, as it may be asked often or rarely.
        parts[1] = f"RANGE {draw(st.integers(2, 9))} SECONDS SLIDE {draw(st.integers(1, 3))} SECONDS"
        share, idle = draw(st.sampled_from(((60, 2), (60, 2), (35, 1), (100, 1))))
        parts[2] = f"STRENGTH {share} PERCENT"
        parts.append(f"GUIDE FAST 1 SECOND IDLE {idle} SECONDS")
    text = " ".join(filter(None, parts))
    if "NEIGHBOURS WITHIN 0" not in text and "NEIGHBOURS WITHIN" in text and draw(st.booleans()):
        function = draw(st.sampled_from(("PREDICT", "ARRIVALS")))
        return coordinates, kind, f"SELECT * FROM {function}({text}, 7 SECONDS)", *readings_of(draw, kind)
    if numbers and not draw(st.integers(0, 3)):
        # A summary whose windows leave nothing out.
        parts[1] = f"RANGE {draw(st.integers(2, 4))} SECONDS SLIDE 1 SECOND"
        own = draw(st.sampled_from(("", " EVERY 2 SECONDS", " CELLS 1", " CELLS 2")))
        summed = " ".join(filter(None, (each for each in parts if not each.startswith("WHERE"))))
        return coordinates, kind, f"SELECT * FROM SUMMARY({summed}{own})", *readings_of(draw, kind)
    query = draw(
        st.sampled_from(
            (
                f"SELECT * FROM PHENOMENA({text})",
                f"SELECT * FROM PHENOMENA({text}) SAMPLE EVERY 4 SECONDS",
                f"SELECT id, kind, size, LAG(size) AS before FROM PHENOMENA({text})",
                f"SELECT * FROM CURRENT({text})",
                f"SELECT kind, COUNT(*) AS n FROM PHENOMENA({text}) [RANGE 5 SECONDS SLIDE 5 SECONDS] p GROUP BY kind",
                f"ISTREAM SELECT c.id, c.size FROM CURRENT({text}) c",
            )
        )
    )
    return coordinates, kind, query, *readings_of(draw, kind)


def readings_of(draw: Any, kind: str) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Readings, and pairs of neighbours."""
    steps: Any = st.tuples(
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(1, 5),
        st.sampled_from(VALUES[kind]),
        st.integers(0, 24),
    )
    time, readings = 0, []
    for forward, back, sensor, value, cell in draw(st.lists(steps, max_size=60)):
        time += forward
        still = draw(st.booleans())
        spot = sensor - 1 if still else cell
        place = None if cell == 13 else (float(spot % 3), float(spot // 3 % 3))
        readings.append(
            {
                "time": max(0, time - back) * SECOND,
                "id": sensor,
                "v": value,
                "place": place,
            }
        )
    pairs = draw(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=5))
    return readings, pairs


def database_of(
    directory: Any, coordinates: str, kind: str, readings: list[dict[str, Any]], pairs: list[tuple[int, int]]
) -> nilometer.Database:
    (directory / "near.csv").write_text("from_id,to_id\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    database = nilometer.connect()
    database.execute(
        f"CREATE STREAM air (v {kind}, place POINT) PUSHED DELAY 2 SECONDS {coordinates};"
        f"CREATE TABLE near (from_id INT, to_id INT) STORED AT '{directory / 'near.csv'}'"
    )
    database.append("air", readings)
    return database


@given(field=fields())
@settings(RELAXED, max_examples=500 if LONG else 25)
def test_every_host_finds_what_the_reference_recomputes(
    tmp_path_factory: pytest.TempPathFactory, field: tuple[Any, ...]
) -> None:
    coordinates, kind, text, readings, pairs = field
    assert parse(print_statement(parse(text))) == parse(text)
    database = database_of(tmp_path_factory.mktemp("field"), coordinates, kind, readings, pairs)
    query = database.sql(text)
    for plan in (query.logical, query.optimized.plan):
        assert parse_plan(explain_text(plan), database.catalog) == plan
    assert parse_physical_plan(explain_text(query.physical), database.catalog) == query.physical
    assert pickle.loads(pickle.dumps(query.physical)) == query.physical, "Spark sends it to its workers"
    for finished in (True, False):
        expected = query.run("reference", finished=finished)
        for host in (run_on_gateway, run_pushed):
            for batch_rows in (None, 1):
                difference = same_answer(expected.rows, host(query, finished, batch_rows).rows)
                assert difference is None, (
                    f"{difference} (batches of {batch_rows})\n{query.explain('physical')}"
                )
    expected = query.run("reference")
    for batch_rows in (None, 3):
        layout = lay_out(query.physical, 3)
        sources = DatabaseSources(database, query.physical)
        laid_out = Pipeline(query.physical, layout, sources, batch_rows, restarted=batch_rows is not None)
        difference = same_answer(
            sorted(expected.given, key=repr), sorted(laid_out.collect().rows(), key=repr)
        )
        assert difference is None, f"{difference} in buckets\n{query.explain('physical')}"
