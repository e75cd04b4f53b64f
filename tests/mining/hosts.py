"""Random sensors that come and go, and every host's answer to a query about them."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from hypothesis import strategies as st

import nilometer
from nilometer.engine.gateway import DatabaseSources
from nilometer.plan.reference.rows import order_key
from nilometer.spark.layout import lay_out
from spark.layout.pipeline import Pipeline

SECOND = 1_000_000
BASE = 1_767_225_600 * SECOND
SCHEMA = """
CREATE STREAM s (x STRING, n INT, v FLOAT, p FLOAT[3]) PUSHED DELAY 3 SECONDS EXPECT EVERY 1 SECOND;
CREATE STREAM m (x STRING, n INT, v FLOAT) SENSED EVERY 1 SECOND DELAY 2 SECONDS
"""


@st.composite
def readings(draw: st.DrawFn, most: int = 30, symbols: int = 3, sources: int = 3) -> list[dict[str, Any]]:
    """A log: mostly rising times, some back, some far ahead; NULL, NaN, ties, and sources that fall silent."""
    rows, now = [], draw(st.integers(0, 9)) * SECOND // 2
    for _ in range(draw(st.integers(0, most))):
        now = max(0, now + draw(st.sampled_from((0, 1, 1, 2, 2, 2, 2, 3, -1, -3, 24))) * SECOND // 2)
        number = draw(st.integers(0, symbols - 1))
        strange = draw(st.integers(0, 19))
        value = {0: None, 1: math.nan, 2: math.inf}.get(strange, number * 1.25)
        rows.append(
            {
                "time": BASE + now,
                "id": draw(st.integers(1, sources)),
                "x": None if strange == 0 else "abcdefgh"[number],
                "n": None if strange == 0 else number,
                "v": value,
                "p": None if strange == 0 else [number, -number / 2, 1.0],
            }
        )
    return rows


def answers(text: str, rows: list[dict[str, Any]], **parameters: Any) -> dict[str, list[tuple[Any, ...]]]:
    """The answer of every host, in a fixed order."""
    database = nilometer.connect()
    database.execute(SCHEMA)
    for stream in ("s", "m"):
        if f"({stream}," in text or f" {stream} " in text:
            columns = rows if stream == "s" else [{k: v for k, v in row.items() if k != "p"} for row in rows]
            database.append(stream, columns)
    query = database.sql(text, **parameters)
    found: dict[str, Any] = {"reference": query.run("reference").given}
    for size in (None, 1, 4):
        found[f"gateway {size}"] = query.run("gateway", batch_rows=size).given.rows()
    for size in (2, None):
        sources = DatabaseSources(database, query.physical)
        pipeline = Pipeline(
            query.physical, lay_out(query.physical, 3), sources, size, restarted=size is not None
        )
        collected: pl.DataFrame = pipeline.collect()
        found[f"buckets {size}"] = collected.rows()
    return {host: sorted(map(_rounded, rows_), key=order_key) for host, rows_ in found.items()}


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Eight digits: the naive twin sums in another order."""
    return tuple(round(each, 8) + 0.0 if isinstance(each, float) else each for each in row)


def agree(text: str, rows: list[dict[str, Any]], **parameters: Any) -> list[tuple[Any, ...]]:
    """The answer on which all hosts agree."""
    found = answers(text, rows, **parameters)
    expected = found.pop("reference")
    for host, given in found.items():
        assert given == expected, host
    return expected
