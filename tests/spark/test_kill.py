"""Standing queries in a pipeline on Spark, killed with everything that belongs to them, at named failpoints and at random moments.

Whatever happens, the result logs hold the reference's answers in the end: none lost, none doubled.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nilometer
from nilometer.live.kept_answers import kept_answers
from nilometer.log import LogDirectory
from nilometer.log.failpoints import SCOPE, VARIABLE
from nilometer.plan.reference import same_answer
from nilometer.types import SECOND

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LIFE = Path(__file__).with_name("standing_life.py")
SCHEMA = """
CREATE STREAM river (depth FLOAT) PUSHED FROM 'directory://{folder}/in' DELAY 3 SECONDS;
CREATE STREAM rain (fall FLOAT) PUSHED FROM 'directory://{folder}/in' DELAY 3 SECONDS;
CREATE QUERY windows STARTING AT BEGINNING AS
  SELECT id, AVG(depth) AS mean, COUNT(*) AS n FROM river [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY id;
CREATE QUERY lately STARTING AT BEGINNING AS
  SELECT id, MAX(depth) AS high, COUNT(*) AS n FROM river [RANGE 10 SECONDS] GROUP BY id;
CREATE QUERY joined STARTING AT BEGINNING AS
  SELECT a.id, a.depth, b.fall FROM river a, rain b WINDOW (a, b) = 2 SECONDS WHERE a.id = b.id;
CREATE QUERY lasting STARTING AT BEGINNING AS
  SELECT MAX(depth) AS high FROM river [RANGE 20 ROWS SLIDE 5 ROWS];
CREATE TABLE banks (k INT, bank STRING) STORED AT 'banks.csv' REFRESH EVERY 1 SECOND;
CREATE QUERY named STARTING AT BEGINNING AS
  SELECT a.id, a.depth, b.bank FROM river a, banks b WHERE a.id = b.k AND a.depth > 12;
"""
QUERIES = ("windows", "lately", "joined", "lasting", "named")

SETTINGS = """
[spark]
master = "local[2]"
max_rows = 800
parts = {parts}
task_rows = 400
spark.driver.memory = "1g"
# A life is short: what the better compiler makes is not paid back.
spark.driver.extraJavaOptions = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""

FAILPOINTS = ("after_read:3@pipeline", "after_fsync:4@results")
OTHERS = (
    "before_read:4@pipeline",
    "during_read:2@pipeline",
    "before_write:3@results",
    "during_write:4@results",
    "after_write:5@results",
    "before_rename:1@state",
    "after_aside:1@state",
)
"""Between those; a life of Spark is long."""
READINGS = 5_000
KILLED = -signal.SIGKILL.value


def empty_field(folder: Path) -> Path:
    """Two streams, a table, and four queries of them."""
    (folder / "banks.csv").write_text("k,bank\n1,north\n2,south\n3,north\n")
    (folder / "schema.sql").write_text(SCHEMA.format(folder=folder))
    (folder / "nilometer.toml").write_text(SETTINGS.format(parts=1))
    (folder / "in").mkdir()
    return folder


def append(field: Path, first: int, end: int) -> None:
    """The readings of these numbers of both streams, some of them late, in pieces."""
    database = nilometer.connect(field)
    random_numbers = np.random.default_rng(7)
    for name, column in (("river", "depth"), ("rain", "fall")):
        seconds = np.sort(random_numbers.integers(0, READINGS // 10, READINGS))
        rows = pl.DataFrame(
            {
                "time": (seconds - random_numbers.integers(0, 6, READINGS)) * SECOND,
                "id": random_numbers.integers(0, 6, READINGS),
                column: random_numbers.normal(10, 3, READINGS).round(3),
            }
        )[first:end]
        with LogDirectory(field).log(database.catalog.stream(name)) as log:
            for start in range(0, rows.height, 150):
                log.append(rows[start : start + 150])


@pytest.fixture
def field(tmp_path: Path) -> Path:
    append(empty_field(tmp_path), 0, READINGS)
    return tmp_path


def life(field: Path, failpoint: str = "", names: tuple[str, ...] = QUERIES) -> subprocess.Popen[str]:
    environment = os.environ | {VARIABLE: failpoint, SCOPE: "session", "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen(
        [sys.executable, str(LIFE), str(field), *names],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end_of(process: subprocess.Popen[str]) -> int:
    output, errors = process.communicate(timeout=300)
    if process.returncode not in (0, KILLED):
        raise AssertionError(f"{output}\n{errors[-4000:]}")
    return process.returncode


def check(field: Path, *names: str) -> None:
    """What was answered is the answer to all that the logs hold, while they may still grow. (By the gateway: the reference takes
    minutes for so many readings, and judges the gateway elsewhere.)"""
    database = nilometer.connect(field)
    for name in names or QUERIES:
        expected = database.query(name).run("gateway", finished=False)
        found = [row for answer in kept_answers(database, name, 0) for row in answer.rows]
        assert expected.rows, f"{name} has nothing to answer"
        difference = same_answer(expected.rows, found)
        assert difference is None, f"{name}: {difference}"


@pytest.mark.parametrize("failpoints", [FAILPOINTS, pytest.param(OTHERS, marks=pytest.mark.long)])
def test_every_failpoint(field: Path, failpoints: tuple[str, ...]) -> None:
    """One life after the other, of the queries in turn, each ended at another place; the last one finishes all."""
    for number, failpoint in enumerate(failpoints):
        names = (QUERIES[number % len(QUERIES)],)
        assert end_of(life(field, failpoint, names)) == KILLED, f"{failpoint} was not passed by {names}"
    assert end_of(life(field)) == 0
    check(field)


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
def test_random_moments(field: Path, parts: int) -> None:
    """Fifty deaths, in either way, with queries that come and go."""
    (field / "nilometer.toml").write_text(SETTINGS.format(parts=parts))
    moments = random.Random(11)
    deaths = 0
    while deaths < 50:
        process = life(field, names=tuple(name for name in QUERIES if moments.random() < 0.7) or QUERIES)
        try:
            process.wait(moments.uniform(4, 16))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            deaths += 1
        end_of(process)
        if process.returncode == 0 and moments.random() < 0.3:
            assert end_of(life(field)) == 0
            check(field)
            for part in ("commits", "state", "queries"):  # and from the beginning again
                shutil.rmtree(field / ".nilometer" / part, ignore_errors=True)
    assert end_of(life(field)) == 0
    check(field)
