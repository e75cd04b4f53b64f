"""Rows of a live query that wait to be fetched: bounded by what waits now, not by what was ever fetched."""

from __future__ import annotations

import polars as pl

from nilometer.engine import connect
from nilometer.live.live_query import LiveQuery


def asked() -> LiveQuery:
    database = connect()
    database.execute("CREATE STREAM air (x INT) PUSHED")
    return LiveQuery("q", database.sql("SELECT x FROM air").standing(), "", {})


def test_rows_that_were_fetched_in_parts_make_room() -> None:
    live = asked()
    rows = pl.DataFrame({"x": range(100)})
    most = 3 * int(rows.estimated_size())
    fetched = 0
    for _ in range(20):
        live.give([rows, rows], most)
        while (part := live.part(30)) is not None:
            fetched += part.height
    assert (fetched, live.dropped) == (20 * 200, 0)


def test_rows_that_wait_beyond_the_bound_are_dropped_and_counted() -> None:
    live = asked()
    rows = pl.DataFrame({"x": range(100)})
    live.give([rows] * 5, 3 * int(rows.estimated_size()))
    assert live.dropped == 200
