"""Makes the directory of this example: `python make.py OUT [NGSIM_US101]`.

With the folder of the measurements it turns cells into sensors: a cell is 3 m long and 5 s wide, which is the source's
own guess. Without, it writes waves of slow traffic that travel upstream at 5 m/s.
"""

from __future__ import annotations

import csv
import gzip
import random
import shutil
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2005, 6, 15, 14, 50, tzinfo=UTC)
CELL, STEP = 3.0, 5
NEEDED = ("speed_field.csv.gz",)


def main(out: Path, data: Path | None) -> None:
    """Write the directory."""
    missing = [] if data is None else [name for name in NEEDED if not (data / name).is_file()]
    if missing:
        sys.exit(f"{data} has no {', '.join(missing)}: README.md says where the data come from")
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("schema.sql"), out / "schema.sql")
    rows = _measured(data) if data is not None else _generated()
    cells = set()
    with (out / "lane.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("time", "id", "speed"))
        for step, cell, speed in rows:
            cells.add(cell)
            writer.writerow(((START + timedelta(seconds=STEP * step)).isoformat(), cell, speed))
    with (out / "cells.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "x", "y"))
        writer.writerows((cell, CELL * cell, 0.0) for cell in sorted(cells))


def _measured(data: Path) -> Iterable[tuple[int, int, str]]:
    with gzip.open(data / "speed_field.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            yield int(row["t_index"]), int(row["x_index"]), row["speed_mps"]


def _generated() -> Iterable[tuple[int, int, str]]:
    chance = random.Random(101)
    for step in range(200):
        for cell in range(200):
            behind = (CELL * cell + 5.0 * STEP * step) % 700
            yield step, cell, f"{(2.0 if behind < 60 else 12.0) + chance.gauss(0, 0.4):.4f}"


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: python make.py OUT [NGSIM_US101]")
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
