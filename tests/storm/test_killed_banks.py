"""Windows that share slices, and joins that share rows, killed at every step of saving their states.

Each life reads another file and dies while it saves; the last one lives. Then every query has answered what the
reference says, each row once.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from nilometer.live.standing import result_log
from nilometer.plan.reference import same_answer
from storm.field import database
from storm.lives import Nursery

QUERIES = {
    "short": "SELECT id, COUNT(*) AS n, SUM(x) AS total FROM air [RANGE 3 MINUTES SLIDE 1 MINUTE] GROUP BY id",
    "long": "SELECT id, AVG(x) AS mean FROM air [RANGE 10 MINUTES SLIDE 2 MINUTES] GROUP BY id",
    "odd": "SELECT id, MAX(x) AS most FROM air [RANGE 7 MINUTES SLIDE 3 MINUTES] GROUP BY id",
    "filtered": "SELECT id, MIN(x) AS least FROM air [RANGE 5 MINUTES SLIDE 1 MINUTE] WHERE x > 3 GROUP BY id",
    "pairs": "SELECT a.id, a.x, b.y FROM air [RANGE 2 MINUTES SLIDE 1 MINUTE] a JOIN rain [RANGE 2 MINUTES SLIDE 1 MINUTE] b"
    " ON a.id = b.id",
    "wide": "SELECT a.id, a.x, b.y FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] a JOIN rain [RANGE 6 MINUTES SLIDE 2 MINUTES] b"
    " ON a.id = b.id",
}
STEPS = (
    "before_aside",
    "during_aside",
    "after_aside",
    "before_rename",
    "after_rename",
    "after_directory_fsync",
    "before_delete",
    "after_delete",
)
"""What a state goes through while it is saved."""
KILLED = -9


def declare(folder: Path) -> None:
    streams = "".join(
        f"CREATE STREAM {name} ({column} FLOAT) PUSHED FROM 'directory://{folder}/{name}?batch=20' DELAY 1 MINUTE KEY (id, time);\n"
        for name, column in (("air", "x"), ("rain", "y"))
    )
    queries = "".join(
        f"CREATE QUERY {name} STARTING AT BEGINNING AS {sql};\n" for name, sql in QUERIES.items()
    )
    (folder / "schema.sql").write_text(streams + queries)


def feed(folder: Path, part: int) -> None:
    """Ten minutes of both streams: three sensors, some readings late, some twice."""
    for name, column in (("air", "x"), ("rain", "y")):
        (folder / name).mkdir(exist_ok=True)
        minutes = [part * 10 + minute for minute in (0, 1, 1, 3, 2, 4, 5, 5, 7, 6, 8, 9)]
        lines = [
            f"2026-03-01T{minute // 60:02}:{minute % 60:02}:00Z,{sensor},{(minute * sensor) % 11}\n"
            for minute in minutes
            for sensor in (1, 2, 3)
        ]
        (folder / name / f"{part:03}.csv").write_text(f"time,id,{column}\n" + "".join(lines))


def check(folder: Path) -> int:
    """Each query's answers are the reference's over what the logs hold. Returns how many rows there are."""
    found, rows = database(folder), 0
    for name, sql in QUERIES.items():
        frames = list(result_log(folder, name).answers())
        given = pl.concat(frames).rows() if frames else []
        difference = same_answer(found.sql(sql).run("reference", finished=False).rows, given)
        assert difference is None, f"{name}: {difference}"
        rows += len(given)
    return rows


@pytest.mark.slow
@pytest.mark.promise("killed-banks")
def test_killed_while_shared_states_are_saved(folder: Path, nursery: Nursery) -> None:
    declare(folder)
    deaths = 0
    for part, step in enumerate(STEPS):
        feed(folder, part)
        deaths += nursery.live(folder, f"{step}:1@state", 1_000_000).end_by_itself() == KILLED
    feed(folder, len(STEPS))
    assert nursery.live(folder).end_by_itself() == 0
    assert deaths >= 4, f"only {deaths} lives came to the step"
    assert check(folder) > 500
