"""Spark's own Kubernetes backend: query scripts, and standing queries in tasks of which a pod is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nilometer.live.standing import result_log
from spark.cluster import PATIENCE
from spark.kubernetes import Kubernetes
from spark.test_cluster import SCRIPT_LIFE, SCRIPTS
from spark.test_kill import LIFE, QUERIES, READINGS, SETTINGS, append, check, empty_field

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long]


def test_scripts_and_a_killed_pod(tmp_path: Path) -> None:
    """The same answers as everywhere, and a new pod for the one that is killed."""
    field = empty_field(tmp_path)
    settings = SETTINGS.format(parts=2).replace('master = "local[2]"\n', "")
    (field / "nilometer.toml").write_text(settings.replace("task_rows = 400", "task_rows = 0"))
    append(field, 0, READINGS)
    queries = Path(__file__).parent.parent / "queries"
    scripts = [str(min((queries / folder).glob("*.test"))) for folder in SCRIPTS]
    with Kubernetes() as cluster:
        told = subprocess.run(
            [sys.executable, SCRIPT_LIFE, *scripts],
            env=cluster.environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert told.stdout.split() == scripts, told.stderr[-2000:]
        made = cluster.pods_made
        assert made >= 2
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
            cluster.kill_pod()
            _, errors = life.communicate(timeout=2 * PATIENCE)
        finally:
            life.kill()
        assert life.returncode == 0, errors[-2000:]
        assert cluster.pods_made > made + 2, "no new pod for the killed one"
    check(field)
