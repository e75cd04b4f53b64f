"""Pathway's side: `python pathway_peer.py QUESTION CSV_FOLDER ANSWER_FOLDER REPEATS`; prints the seconds as
JSON.

It runs Pathway in static mode, its fastest: all files are there when it starts, and every answer is given
once. It uses two threads and no persistence. Windows are half-open: a reading counts a millisecond before its
time, so that the window that ends at T holds T - range < time <= T.
"""

from __future__ import annotations

import csv as csv_files
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("PATHWAY_THREADS", "2")
try:
    import pathway as pw  # type: ignore[import-not-found,unused-ignore]
    from pathway.internals.parse_graph import G  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    sys.exit(3)

READINGS = pw.schema_from_types(time=int, sensor=int, v=float, w=float)
LEFT = pw.schema_from_types(time=int, sensor=int, x=float)
RIGHT = pw.schema_from_types(time=int, sensor=int, y=float)


def question_of(name: str, csv: Path) -> Any:
    """The table that answers the question."""

    def read(stream: str, schema: Any) -> Any:
        return pw.io.csv.read(f"{csv}/headed/{stream}", schema=schema, mode="static")

    if name == "filter":
        readings = read("readings", READINGS)
        return readings.filter((pw.this.w < 0.1) & (pw.this.v > 0)).select(
            pw.this.time, pw.this.sensor, pw.this.v
        )
    if name in ("hop60x5", "hop60x1"):
        readings = read("readings", READINGS).with_columns(before=pw.this.time - 1)
        window = pw.temporal.sliding(hop=1000 * int(name.removeprefix("hop60x")), duration=60_000)
        windows = readings.windowby(readings.before, window=window, instance=readings.sensor)
        return windows.reduce(
            tick=pw.this._pw_window_end, sensor=pw.this._pw_instance, mean=pw.reducers.avg(pw.this.v)
        )
    if name not in ("join", "asof"):
        sys.exit(4)
    a, b = read("a", LEFT), read("b", RIGHT)
    if name == "join":
        near = pw.temporal.interval(-2000, 2000)
        return a.interval_join(b, a.time, b.time, near, a.sensor == b.sensor).select(
            time=pw.if_else(a.time > b.time, a.time, b.time), sensor=a.sensor, x=a.x, y=b.y
        )
    joined = a.asof_join(b, a.time, b.time, a.sensor == b.sensor, how=pw.JoinMode.LEFT)
    return joined.select(time=a.time, sensor=a.sensor, x=a.x, y=b.y)


def run(name: str, csv: Path, answers: Path) -> float:
    """Run once, from the question to its end."""
    G.clear()
    started = time.perf_counter()
    pw.io.csv.write(question_of(name, csv), str(answers / "_answer.csv"))
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return time.perf_counter() - started


def without_header(answers: Path) -> None:
    """Rewrite the answers as the others write them: without a header, and without Pathway's own last columns
    (a row's time and its change)."""
    with (answers / "_answer.csv").open() as given, (answers / "answer.csv").open("w") as written:
        rows = csv_files.reader(given)
        next(rows)
        csv_files.writer(written).writerows(row[:-2] for row in rows)


if __name__ == "__main__":
    question, csv, answers, repeats = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    seconds = []
    for _ in range(repeats + 1):
        shutil.rmtree(answers, ignore_errors=True)
        answers.mkdir(parents=True)
        seconds.append(run(question, csv, answers))
    without_header(answers)
    print(json.dumps({"seconds": seconds[1:]}))
