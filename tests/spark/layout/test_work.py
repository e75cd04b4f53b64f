"""What each operator of a laid out query did, summed over its buckets."""

from __future__ import annotations

import re
from collections import Counter

import nilometer
from nilometer.engine.gateway import DatabaseSources
from nilometer.spark.layout.lay_out import lay_out
from nilometer.spark.layout.work import since, work_text
from spark.layout.pipeline import Pipeline


def test_operators_say_what_they_did() -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM river (depth INT) SENSED EVERY 1 MINUTE")
    rows = [{"time": f"2026-03-01T06:{m:02}Z", "id": n, "depth": m} for m in range(20) for n in (1, 2)]
    database.append("river", rows)
    text = "SELECT id, AVG(depth) AS mean FROM river [RANGE 5 MINUTES SLIDE 5 MINUTES] WHERE depth > 3 GROUP BY id"
    plan = database.sql(text).physical
    layout = lay_out(plan, 4, combine=True)
    pipeline = Pipeline(plan, layout, DatabaseSources(database, plan))
    answer = pipeline.collect()
    work: Counter[str] = Counter()
    for flow in pipeline.flows.values():
        work.update(since({}, flow.work))
    shown = work_text(layout, work, {"1": 2_000})
    assert re.search(r"SP_ACQUIRE .*-- (40 -> )?32 rows.*, [\d.]+ ms$", shown, re.MULTILINE), shown
    assert re.search(rf"PROJECT .*-- {answer.height} rows, [\d.]+ ms$", shown, re.MULTILINE), shown
    assert re.search(r"^fragment 1 \(stage 1, 4 buckets\) -> answer  -- 2.0 kB held$", shown, re.MULTILINE), (
        shown
    )
    assert "RECEIVE [fragment 0]\n" in f"{shown}\n"
