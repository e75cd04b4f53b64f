"""Flink's side: `python flink_peer.py QUESTION CSV_FOLDER ANSWER_FOLDER REPEATS`; prints the seconds as JSON: of whole runs,
and of the jobs alone as Flink counts them, since a run starts a small cluster in its process first.

It runs Flink SQL in streaming mode from CSV files to CSV files that are committed with its checkpoints. State
is on the heap, Flink's default and fastest, with a checkpoint every second: as durable as ours. Windows are
half-open: a reading's event time is a millisecond before its time, so that the window that ends at T holds T
- range < time <= T.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

try:
    from pyflink.table import (  # type: ignore[import-not-found,unused-ignore]
        EnvironmentSettings,
        TableEnvironment,
    )
except ImportError:
    sys.exit(3)

PARALLELISM = "2"
COLUMNS = {
    "readings": "`time` BIGINT, id BIGINT, v DOUBLE, w DOUBLE",
    "a": "`time` BIGINT, id BIGINT, x DOUBLE",
    "b": "`time` BIGINT, id BIGINT, y DOUBLE",
}
HOP = """SELECT CAST(UNIX_TIMESTAMP(CAST(window_end AS STRING)) AS BIGINT) * 1000, id, AVG(v)
FROM HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL '{slide}' SECOND, INTERVAL '60' SECOND)
GROUP BY window_start, window_end, id"""
VERSIONS = """CREATE TEMPORARY VIEW versions AS SELECT id, y, `time`, ts FROM (
SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts DESC) AS n FROM b) WHERE n = 1"""
QUESTIONS = {
    "filter": (
        "`time` BIGINT, id BIGINT, v DOUBLE",
        "SELECT `time`, id, v FROM readings WHERE w < 0.1 AND v > 0",
    ),
    "hop60x5": ("tick BIGINT, id BIGINT, mean DOUBLE", HOP.format(slide=5)),
    "hop60x1": ("tick BIGINT, id BIGINT, mean DOUBLE", HOP.format(slide=1)),
    "join": (
        "`time` BIGINT, id BIGINT, x DOUBLE, y DOUBLE",
        "SELECT GREATEST(a.`time`, b.`time`), a.id, a.x, b.y FROM a JOIN b ON a.id = b.id "
        "AND b.ts BETWEEN a.ts - INTERVAL '2' SECOND AND a.ts + INTERVAL '2' SECOND",
    ),
    "asof": (
        "`time` BIGINT, id BIGINT, x DOUBLE, y DOUBLE",
        "SELECT a.`time`, a.id, a.x, v.y FROM a LEFT JOIN versions FOR SYSTEM_TIME AS OF a.ts AS v ON a.id = v.id",
    ),
    "rows": (
        "tick BIGINT, mean DOUBLE",
        "SELECT `time`, AVG(v) OVER (ORDER BY ts ROWS BETWEEN 99 PRECEDING AND CURRENT ROW) FROM readings",
    ),
}


def run(question: str, csv: Path, answers: Path) -> tuple[float, float]:
    """Run one job, from its text to its end. The seconds, and those of the job alone."""
    settings = EnvironmentSettings.in_streaming_mode()
    started = time.perf_counter()
    tables = TableEnvironment.create(settings)
    for key, value in {
        "parallelism.default": PARALLELISM,
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": f"file://{answers}.checkpoints",
        "table.local-time-zone": "UTC",
    }.items():
        tables.get_config().set(key, value)
    for name, columns in COLUMNS.items():
        tables.execute_sql(
            f"CREATE TEMPORARY TABLE {name} ({columns}, ts AS TO_TIMESTAMP_LTZ(`time` - 1, 3), "
            f"WATERMARK FOR ts AS ts - INTERVAL '2' SECOND) WITH "
            f"('connector' = 'filesystem', 'path' = 'file://{csv}/{name}', 'format' = 'csv')"
        )
    if question == "asof":
        tables.execute_sql(VERSIONS)
    columns, query = QUESTIONS[question]
    tables.execute_sql(
        f"CREATE TEMPORARY TABLE answers ({columns}) WITH "
        f"('connector' = 'filesystem', 'path' = 'file://{answers}', 'format' = 'csv')"
    )
    result = tables.execute_sql(f"INSERT INTO answers {query}")
    result.wait()
    whole = time.perf_counter() - started
    job = result.get_job_client().get_job_execution_result().result().get_net_runtime()
    return whole, job / 1_000


if __name__ == "__main__":
    question, csv, answers, repeats = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    if question not in QUESTIONS:
        sys.exit(4)
    found = []
    for _ in range(repeats + 1):
        shutil.rmtree(answers, ignore_errors=True)
        found.append(run(question, csv, answers))
    seconds, jobs = zip(*found[1:], strict=True)
    print(json.dumps({"seconds": seconds, "its job": jobs}))
