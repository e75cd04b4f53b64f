"""Flink and Pathway with the same questions, if they are installed: `nilometer bench spark --peers`.

Each is a script of its own (flink_peer.py, pathway_peer.py) that imports nothing of ours, so that it can run
in its own environment:

    python3.11 -m venv /tmp/flink && /tmp/flink/bin/pip install apache-flink    # 850 MB; it needs Java 11 or 17
    NILOMETER_FLINK_PYTHON=/tmp/flink/bin/python ./nilo bench spark --peers

The interpreter is `NILOMETER_FLINK_PYTHON` or `NILOMETER_PATHWAY_PYTHON`, else this one. Both read the same readings as CSV files (their wheels do not read Parquet) and write files. Each runs
once to warm up, in the measured process. They have no micro-batches.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from nilometer.engine import connect
from nilometer.laboratory.benchmarks.spark.answers import before, difference
from nilometer.laboratory.benchmarks.spark.comparison import Bench, Prepared, prepare
from nilometer.laboratory.benchmarks.spark.report import Comparison
from nilometer.laboratory.benchmarks.spark.workloads import Workload

SCRIPTS = {"Flink": "flink_peer.py", "Pathway": "pathway_peer.py"}
PACKAGES = {"Flink": "apache-flink", "Pathway": "pathway"}
NOT_INSTALLED, NOT_ASKED = 3, 4
"""The exit codes of a script whose engine is not installed, or that has no form of the question."""
PATIENCE = 1_800.0


def with_foreign(bench: Bench, workload: Workload, comparison: Comparison) -> Comparison:
    """The comparison, with the installed peers added."""
    prepared = prepare(bench, workload, comparison.batch_rows, bench.sensors)
    csv = _csv_files(prepared, workload)
    mine = before(_answer(prepared, workload), prepared.sentinel)
    peers = dict(comparison.peers)
    different = dict(comparison.different)
    for name, script in SCRIPTS.items():
        place = bench.place / name / workload.name
        found = _run(bench, name, script, workload.name, csv, place)
        if found is None:
            continue
        peers |= found
        unlike = difference(mine, before(_answers(place, mine.schema), prepared.sentinel))
        if unlike is not None:
            different[name] = unlike
    return replace(comparison, peers=peers, different=different)


def _run(
    bench: Bench, name: str, script: str, question: str, csv: Path, place: Path
) -> dict[str, tuple[float, ...]] | None:
    python = os.environ.get(f"NILOMETER_{name.upper()}_PYTHON", sys.executable)
    command = [
        python,
        str(Path(__file__).with_name(script)),
        question,
        str(csv),
        str(place),
        str(bench.repeats),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode == NOT_INSTALLED:
        bench.say(
            f"{name} is not installed in {python}: pip install {PACKAGES[name]} into an environment of its own, and set"
            f" NILOMETER_{name.upper()}_PYTHON to its interpreter"
        )
        return None
    if done.returncode == NOT_ASKED:
        bench.say(f"{question}, {name}: no form of it")
        return None
    if done.returncode:
        bench.say(f"{question}, {name} failed: {' '.join(done.stderr.split())[-600:]}")
        return None
    found = {}
    for what, seconds in json.loads(done.stdout.splitlines()[-1]).items():
        whose = name if what == "seconds" else f"{name}, {what}"
        found[whose] = tuple(seconds)
        bench.say(f"{question}, {whose}: {', '.join(f'{each:.2f}' for each in seconds)} s")
    return found


def _csv_files(prepared: Prepared, workload: Workload) -> Path:
    """The streams as files, and in `headed/` with the columns' names. Each half of the sensors is in a file
    of its own, so that two threads can read."""
    folder = prepared.batches.place / "csv"
    for stream in workload.streams:
        files = sorted(prepared.batches.files(stream).glob("*.parquet"))
        frame = pl.concat([pl.read_parquet(file) for file in files])
        # Milliseconds since 1970: Flink has no finer event time.
        frame = frame.with_columns(pl.col("time").dt.epoch("ms"))
        for half in (0, 1):
            part = frame.filter(pl.col("id") % 2 == half)
            _written(part, folder / stream / f"{half}.csv", headed=False)
            # Pathway has an `id` of its own.
            _written(part.rename({"id": "sensor"}), folder / "headed" / stream / f"{half}.csv", headed=True)
    return folder


def _written(frame: pl.DataFrame, path: Path, *, headed: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_csv(path, include_header=headed)


def _answer(prepared: Prepared, workload: Workload) -> pl.DataFrame:
    """Our answer, from the gateway: the one on Spark was compared already."""
    given = connect(prepared.batches.place).sql(workload.question).run("gateway").given
    assert isinstance(given, pl.DataFrame)
    return given


def _answers(place: Path, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """CSV files without a header, in our columns' order, with times in milliseconds. Flink hides a file until
    it is complete."""
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and path.name[0] not in "._"]
    kinds = {name: pl.Float64() if kind.is_float() else pl.Int64() for name, kind in schema.items()}
    frames = [
        pl.read_csv(file, has_header=False, schema=kinds, null_values=["", "None"])
        for file in files
        if file.stat().st_size
    ]
    frame = pl.concat([pl.DataFrame(schema=kinds), *frames])
    return frame.with_columns(pl.col(name) * 1000 for name in kinds if name in ("tick", "time"))
