"""Kept machine code is loaded, and none is compiled."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from nilometer.kernels.codes import Codes

LOAD = """
import json
from nilometer.kernels import codes
from nilometer.spark.warm.prepare import kept_code
steps = sum(1 for _ in kept_code())
stats = codes.encode_integers.stats
print(json.dumps([steps, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


def test_kept_code_is_loaded() -> None:
    Codes().encode(np.array([7, 8, 7]), None)  # compiled by now, and kept
    told = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True).stdout
    steps, hits, misses = json.loads(told)
    assert steps >= hits >= 1
    assert misses == 0
