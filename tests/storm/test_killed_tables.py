"""`nilometer run` with a table that is read anew, killed where its versions are written: every tick meets one version, and nothing is lost or doubled."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import nilometer
from nilometer.types import SECOND
from storm.lives import Nursery
from storm.table_judge import judge, versions_of

pytestmark = [pytest.mark.slow, pytest.mark.long]

KILLED = -signal.SIGKILL.value
BASE = 1_767_225_600 * SECOND
SQL = "SELECT a.x AS x, t.label AS label FROM a, t WHERE a.id = t.k"


def write_schema(folder: Path, *, follow: bool) -> None:
    (folder / "schema.sql").write_text(
        f"CREATE STREAM a (x INT) PUSHED FROM 'directory://{folder}/in{'?follow=1' if follow else ''}' KEY (id, time);"
        "CREATE TABLE t (k INT, label STRING) STORED AT 't.csv' REFRESH EVERY 1 HOUR;"
        f"CREATE QUERY q STARTING AT BEGINNING AS {SQL};"
    )


def write_readings(folder: Path, number: int) -> None:
    rows = [f"{BASE + (10 * number + at) * SECOND},1,{10 * number + at}" for at in range(10)]
    aside = folder / "aside.csv"
    aside.write_text("\n".join(["time,id,x", *rows]) + "\n")
    aside.rename(folder / "in" / f"{number}.csv")


def write_table(folder: Path, label: str) -> None:
    (folder / "t.csv").write_text(f"k,label\n1,{label}\n")


@pytest.mark.promise("killed-processes")
@pytest.mark.parametrize(
    "failpoint", ["before_write", "during_write", "after_write", "before_fsync", "after_fsync"]
)
def test_killed_where_a_version_is_written(folder: Path, nursery: Nursery, failpoint: str) -> None:
    (folder / "in").mkdir()
    write_schema(folder, follow=False)
    write_readings(folder, 0)
    write_table(folder, "first")
    # The first version, when the query is installed; then to the end of what there is.
    assert nursery.live(folder, f"{failpoint}:1@tables").end_by_itself() == KILLED
    assert nursery.live(folder).end_by_itself() == 0
    # It goes on with more, and the table has changed: the process runs on until the next version is written, and dies of it.
    write_table(folder, "second")
    write_readings(folder, 1)
    write_schema(folder, follow=True)
    assert nursery.live(folder, f"{failpoint}:1@tables").end_by_itself() == KILLED
    write_readings(folder, 2)
    write_schema(folder, follow=False)
    assert nursery.live(folder).end_by_itself() == 0
    database = nilometer.connect(folder)
    assert judge(folder, database, SQL).answers == 30
    found = versions_of(database, folder, "q", "t")
    assert [version.rows["label"][0] for version in found] == ["first", "second"][: len(found)]
    if failpoint == "after_fsync":
        assert len(found) == 2, "what was durable is there"
