"""A standing query on one host is read in FROM by a query on the other."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import nilometer
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.types import MINUTE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START = 1_767_225_600_000_000
SUMS = "SELECT id, SUM(x) AS total FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY id"
HIGH = "SELECT time, id, total FROM sums WHERE total > 60"


def test_each_host_reads_the_other_s_answers(spark: SparkSession, tmp_path: Path) -> None:
    assert spark is not None
    (tmp_path / "in").mkdir()
    (tmp_path / "schema.sql").write_text(
        f"CREATE STREAM air (x FLOAT) PUSHED FROM 'directory://{tmp_path}/in?follow=1' KEY (id, time);\n"
        f"CREATE QUERY sums STARTING AT BEGINNING AS {SUMS};\n"
    )
    minutes = range(31)
    frame = pl.DataFrame(
        {"time": [START + m * MINUTE for m in minutes], "id": [1] * 31, "x": [float(m) for m in minutes]}
    )
    frame.write_csv(tmp_path / "in" / "1.csv")
    database = nilometer.connect(tmp_path)
    found: dict[str, list[dict[str, Any]]] = {}
    for host, other in (("gateway", "spark"), ("spark", "gateway")):
        with Station(database, tmp_path) as station:
            station.install(database.sql(SUMS), "sums", start=BEGINNING, durable=True, on=host)
            live = station.install(database.sql(HIGH), start=BEGINNING, on=other)
            # [26, 30] has not ended; those of 15, 20, 25 and 30 minutes are above 60 from the second on.
            found[other] = list(islice(station.rows(live), 2))
    answers = list(database.answers("sums"))
    expected = [
        {"time": row["tick"], "id": row["id"], "total": row["total"]} for row in answers if row["total"] > 60
    ]
    assert found["spark"] == found["gateway"] == expected[:2]
    assert len(expected) >= 2
