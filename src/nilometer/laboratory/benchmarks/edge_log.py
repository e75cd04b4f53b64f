"""The stream log by itself: appends in batches of 1,000 with fsync by interval, and a scan of the whole log,
on one core.

A row is a typical reading: time, id and three measured values. A scan checks the checksum of every byte and
returns frames; the sums of all columns are compared outside the measured time. The append is compared with a
bare write of the same bytes, the scan with Polars reading one Parquet file of the same rows. The best of
several runs counts.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.laboratory.benchmarks.result import Measurement, Target

if TYPE_CHECKING:
    import polars as pl

APPENDS, REPEATS = 3, 9
"""The best of this many runs counts: a scan takes 50 ms, and a busy machine rarely leaves it undisturbed."""

BATCH = 1_000
SENSORS = 200
START = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z

APPEND = "log append, batches of 1,000"
SCAN = "log scan"
APPEND_RATE = 1_000_000
SCAN_RATE = 20_000_000


def edge_log(rows: int = 2_000_000) -> tuple[Measurement, ...]:
    """Append and scan. Run it in a process with POLARS_MAX_THREADS=1, so that it uses one core."""
    with tempfile.TemporaryDirectory() as folder:
        batches = _batches(rows)
        append = min((_append(Path(folder) / str(i), batches) for i in range(APPENDS)), key=lambda m: m.ours)
        scan = measure_scan(Path(folder) / "0", batches)
    return append, scan


def targets(measurements: tuple[Measurement, ...]) -> tuple[Target, ...]:
    """The two rates as microseconds per row, because a target is a figure not to be exceeded."""
    limits = {APPEND: APPEND_RATE, SCAN: SCAN_RATE}
    return tuple(
        Target(
            f"{m.task}, {limits[m.task]:,} rows/s, us a row", 1e6 * m.ours / m.rows_in, 1e6 / limits[m.task]
        )
        for m in measurements
        if m.task in limits
    )


def _batches(rows: int) -> list[pl.DataFrame]:
    import numpy as np
    import polars as pl

    random = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "time": START + np.arange(rows) // SENSORS * 1_000_000,
            "id": np.arange(rows) % SENSORS,
            "depth": random.random(rows),
            "rain": random.random(rows),
            "temperature": random.random(rows),
        }
    )
    return list(frame.iter_slices(BATCH))


def _append(folder: Path, batches: list[pl.DataFrame]) -> Measurement:
    from nilometer.log import StreamLog

    rows = sum(batch.height for batch in batches)
    started = time.perf_counter()
    with StreamLog(folder, dict(batches[0].schema)) as log:
        for batch in batches:
            log.append(batch)
    ours = time.perf_counter() - started
    end = log.end.position
    return Measurement(APPEND, ours, _bare_write(folder.with_suffix(".bare"), folder), rows, end, end == rows)


def _bare_write(path: Path, log: Path) -> float:
    """Write the log's bytes again, in as many writes, with one fsync at the end."""
    data = b"".join(file.read_bytes() for file in sorted(log.glob("*.segment")))
    step = 40 * BATCH
    started = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for at in range(0, len(data), step):
            file.write(data[at : at + step])
        os.fsync(file.fileno())
    seconds = time.perf_counter() - started
    path.unlink()
    return seconds


def measure_scan(folder: Path, batches: list[pl.DataFrame]) -> Measurement:
    """Scan a log of these batches, compared with Parquet."""
    import polars as pl

    from nilometer.log import StreamLog

    whole = pl.concat(batches)
    parquet = folder.with_suffix(".parquet")
    whole.write_parquet(parquet)
    sums = whole.sum().row(0)

    def ours() -> Iterator[pl.DataFrame]:
        return StreamLog(folder).scan()

    def theirs() -> Iterator[pl.DataFrame]:
        yield pl.read_parquet(parquet)

    times: dict[str, float] = {}
    equal = True
    for name, task in (("ours", ours), ("theirs", theirs)):
        found = pl.concat(frame.sum() for frame in task()).sum().row(0)
        equal &= all(abs(a - b) <= 1e-9 * abs(b) for a, b in zip(found, sums, strict=True))
        for _ in range(REPEATS):
            started = time.perf_counter()
            rows = sum(frame.height for frame in task())
            times[name] = min(times.get(name, float("inf")), time.perf_counter() - started)
            equal &= rows == whole.height
    return Measurement(SCAN, times["ours"], times["theirs"], whole.height, whole.height, equal)
