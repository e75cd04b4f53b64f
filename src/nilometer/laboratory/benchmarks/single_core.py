"""Runs a benchmark in its own process, in which the libraries are limited to one thread before they start."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from nilometer.errors import ResourceError
from nilometer.laboratory.benchmarks.result import Result

ONE_THREAD = {"POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def on_one_core(module: str, rows: int, sensors: int, *parts: str) -> Result:
    """Call `measure(rows, sensors, *parts) -> Result` of a module in a new process."""
    code = (
        "import importlib, json, sys\n"
        "measure = importlib.import_module(sys.argv[1]).measure\n"
        "print(json.dumps(measure(int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]).as_dict()))\n"
    )
    command = [sys.executable, "-c", code, module, str(rows), str(sensors), *parts]
    done = subprocess.run(
        command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, check=False, text=True
    )
    if done.returncode:
        raise ResourceError("the benchmark's own process failed", hint="its messages are above")
    return Result.from_dict(json.loads(done.stdout.splitlines()[-1]))
