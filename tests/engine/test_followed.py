"""A followed query answers as a run over all data does, however the log has grown between two questions."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from nilometer.engine import connect
from nilometer.engine.followed import FollowedQuery, can_follow, signature
from nilometer.log import LogDirectory

SCHEMA = """
CREATE STREAM air (id INT, pm25 FLOAT UNIT 'ug/m3') PUSHED DELAY 1 MINUTES FUTURE 3650 DAYS COORDINATES WGS84;
CREATE SENSOR 1 OF air AT (-121.0, 38.0);
CREATE SENSOR 2 OF air AT (-121.2, 38.0);
CREATE SENSOR 3 OF air AT (-121.1, 38.2);
CREATE SENSOR 4 OF air AT (-120.9, 38.2);
CREATE PHENOMENON smoke ON air.pm25 ABOVE 35 RANGE 3 MINUTES SLIDE 1 MINUTE NEIGHBOURS WITHIN 60 KM MEMBERS 2;
"""
MINUTE = 60_000_000
BEGIN = 1_772_344_800_000_000

readings = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 4), st.sampled_from((5.0, 40.0, 80.0, None))), max_size=12
)


@settings(max_examples=12, deadline=None)
@given(parts=st.lists(readings, min_size=1, max_size=4))
def test_as_a_run_over_all_data(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[tuple[int, int, float | None]]]
) -> None:
    folder: Path = tmp_path_factory.mktemp("followed")
    (folder / "schema.sql").write_text(SCHEMA)
    query = connect(folder).sql("SELECT * FROM CURRENT(smoke)")
    followed, latest = FollowedQuery(query.physical, "time"), None
    for part in parts:
        stream = query.database.catalog.stream("air")
        rows = pl.DataFrame(
            {
                "time": [BEGIN + minute * MINUTE for minute, _, _ in part],
                "id": [sensor for _, sensor, _ in part],
                "pm25": [value for _, _, value in part],
            },
            schema={"time": pl.Int64, "id": pl.Int64, "pm25": pl.Float64},
        )
        if part:
            with LogDirectory(folder).log(stream) as log:
                log.append(rows)
                log.flush()
            latest = max(latest or 0, *rows.get_column("time"))
        whole = connect(folder).sql("SELECT * FROM CURRENT(smoke)").run("gateway").given
        found = followed.ask(query.database)
        assert isinstance(whole, pl.DataFrame)
        assert_frame_equal(found.rows, whole)
        assert found.latest == latest


def test_other_declarations_are_another_query(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    first = connect(tmp_path).sql("SELECT * FROM CURRENT(smoke)")
    assert can_follow(first)
    assert signature(first) == signature(connect(tmp_path).sql("SELECT * FROM CURRENT(smoke)"))
    (tmp_path / "schema.sql").write_text(SCHEMA + "CREATE SENSOR 5 OF air AT (-121.0, 38.1);\n")
    other = connect(tmp_path).sql("SELECT * FROM CURRENT(smoke)")
    assert signature(other) != signature(first)
    (tmp_path / "air.csv").write_text("time,id,pm25\n2026-03-01T06:00:00Z,1,5\n")
    assert not can_follow(connect(tmp_path).sql("SELECT * FROM CURRENT(smoke)"))
