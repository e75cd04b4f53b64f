"""A standalone cluster: the same job, a worker that is killed in the middle of it, and logs in an object store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import nilometer
from moto_server import BUCKET, MotoServer
from nilometer.live.standing import result_log
from nilometer.plan.reference import same_answer
from spark import tiny
from spark.cluster import PATIENCE, Cluster
from spark.test_kill import LIFE, QUERIES, READINGS, SETTINGS, append, check, empty_field, field  # noqa: F401

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


ASKED = "SELECT id, COUNT(*) AS n, SUM(depth) AS s FROM river [RANGE 1 MINUTE SLIDE 20 SECONDS] GROUP BY id"
ASKING = Path(__file__).with_name("asking_life.py")


@pytest.mark.long
@pytest.mark.moto
def test_logs_in_an_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs are in a store that speaks S3, and nowhere else. Questions and standing queries on the cluster, in tasks, answer
    as the gateway does, while a worker is killed."""
    field = empty_field(tmp_path)  # noqa: F811
    logs = f"s3://{BUCKET}/logs"
    settings = SETTINGS.format(parts=2).replace('master = "local[2]"\n', "")
    (field / "nilometer.toml").write_text(
        f'logs = "{logs}"\n' + settings.replace("task_rows = 400", "task_rows = 0")
    )
    with MotoServer() as store, Cluster(variables=store.variables) as cluster:
        for name, value in store.variables.items():
            monkeypatch.setenv(name, value)
        append(field, 0, READINGS)
        assert not (field / ".nilometer" / "log").exists()
        assert {name.split("/")[1] for name in store.names("logs")} == {"river", "rain"}
        asked = subprocess.run(
            [sys.executable, ASKING, str(field), ASKED],
            env=cluster.environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert asked.returncode == 0, asked.stderr[-2000:]
        expected = nilometer.connect(field).sql(ASKED).run("gateway").rows
        for line in asked.stdout.splitlines():  # by run("spark"), and as a DataFrame
            assert same_answer([row[1:] for row in expected], list(map(tuple, json.loads(line)))) is None
        assert len(asked.stdout.splitlines()) == 2
        assert not [name for name in store.names("logs") if "asked" in name], "what was landed is gone"
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
