"""The end of a replayed file completes the last windows of a passing question on Spark, as on the gateway and in the reference."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import nilometer
from nilometer.log import Offset
from nilometer.spark.ends import tell_ends, told_ends
from nilometer.spark.places import LogPlace, Places
from nilometer.types import MINUTE

pytestmark = [pytest.mark.spark, pytest.mark.slow]

START = 1_767_225_600_000_000
QUERIES = [
    "SELECT a.x AS x, w.x AS y FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES] a, wind [NOW] w WHERE a.id = w.id",
    "SELECT id, COUNT(*) AS n, AVG(x) AS mean FROM air [RANGE 10 MINUTES SLIDE 5 MINUTES] GROUP BY id",
    "SELECT id, x, LAG(x) AS before FROM wind",
]


def write(path: Path, minutes: range) -> None:
    path.parent.mkdir()
    rows = [
        f"{START + minute * MINUTE},{sensor},{minute + sensor}" for minute in minutes for sensor in (1, 2)
    ]
    path.write_text("\n".join(["time,id,x", *rows]) + "\n")


@pytest.mark.parametrize(
    "queries", [QUERIES[:1], pytest.param(QUERIES[1:], marks=pytest.mark.long)], ids=["join", "others"]
)
def test_the_end_of_files_completes_the_last_windows(
    spark: SparkSession, tmp_path: Path, queries: list[str]
) -> None:
    assert spark is not None
    write(tmp_path / "air" / "a.csv", range(23))
    write(tmp_path / "wind" / "w.csv", range(4, 17))
    (tmp_path / "nilometer.toml").write_text("[spark]\nbuckets = 2\n")
    (tmp_path / "schema.sql").write_text(
        f"CREATE STREAM air (x FLOAT) PUSHED FROM 'directory://{tmp_path}/air' DELAY 3 MINUTES KEY (id, time);"
        f"CREATE STREAM wind (x FLOAT) PUSHED FROM 'directory://{tmp_path}/wind' KEY (id, time);"
    )
    database = nilometer.connect(tmp_path)
    for sql in queries:
        question = database.sql(sql)
        answers = {
            host: sorted(str(sorted(row.items())) for row in question.live(start="beginning", on=host))
            for host in ("spark", "gateway")
        }
        # Of the logs, which they have filled.
        expected = sorted(str(sorted(row.items())) for row in question.run("reference"))
        assert len(expected) > 4
        assert answers["gateway"] == expected
        assert answers["spark"] == expected


def test_where_streams_end_is_told_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "q" / "ends.json"
    assert told_ends(None) == told_ends(str(path)) == {}
    tell_ends(path, {"air": Offset(3, 40)})
    assert told_ends(str(path)) == {"air": Offset(3, 40)}
    # An offset that Spark kept before streams could end one by one.
    old = {"streams": {"air": LogPlace().__dict__}, "ended": False}
    assert Places.of_json(old) == Places({"air": LogPlace()})
    over = Places({"air": LogPlace()}, over=frozenset({"air"}))
    assert Places.of_json(over.as_json()) == over
