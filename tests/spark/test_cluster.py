"""A standalone cluster: the same job, and a worker that is killed in the middle of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spark import tiny
from spark.cluster import PATIENCE, Cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BATCHES = 8
JOB = Path(__file__).with_name("cluster_job.py")


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
