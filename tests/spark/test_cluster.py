"""A standalone cluster: the same job, and a worker that is killed in the middle of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nilometer.live.standing import result_log
from spark import tiny
from spark.cluster import PATIENCE, Cluster
from spark.test_kill import LIFE, QUERIES, check, field  # noqa: F401 - a fixture

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BATCHES = 8
JOB = Path(__file__).with_name("cluster_job.py")
SCRIPT_LIFE = Path(__file__).with_name("script_life.py")


SCRIPTS = ("asof", "join", "lag", "rows", "silent")
"""One of each of these folders."""


@pytest.mark.long
def test_scripts_and_a_killed_worker(field: Path) -> None:  # noqa: F811
    """The same scripts as everywhere, then standing queries of which a worker is killed: the same answers."""
    queries = Path(__file__).parent.parent / "queries"
    scripts = [str(min((queries / folder).glob("*.test"))) for folder in SCRIPTS]
    with Cluster() as cluster:
        told = subprocess.run(
            [sys.executable, SCRIPT_LIFE, *scripts],
            env=cluster.environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert told.stdout.split() == scripts, told.stderr[-2000:]
        life = subprocess.Popen(
            [sys.executable, LIFE, str(field), *QUERIES],
            env=cluster.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            log = result_log(field, QUERIES[0])
            while log.last is None or log.last.number < 2:
                assert life.poll() is None, "it ended before anything was answered"
                log = result_log(field, QUERIES[0])
            cluster.kill_worker(0)
            _, errors = life.communicate(timeout=2 * PATIENCE)
        finally:
            life.kill()
        assert life.returncode == 0, errors[-2000:]
    check(field)


@pytest.mark.long
def test_a_killed_worker_changes_no_answer(tmp_path: Path) -> None:
    with Cluster() as cluster:
        job = subprocess.Popen(
            [sys.executable, JOB, str(BATCHES), str(tmp_path / "checkpoint")],
            env=cluster.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        told = []
        try:
            assert job.stdout is not None
            for line in job.stdout:
                told.append(json.loads(line))
                if len(told) == 3:
                    cluster.kill_worker(0)
            assert job.wait(PATIENCE) == 0
        finally:
            job.kill()
            job.communicate()
    expected = [
        [[bucket, tiny.triangle(number + 1)] for bucket in range(tiny.BUCKETS)] for number in range(BATCHES)
    ]
    assert [batch["sums"] for batch in told] == expected
