"""Makes the directory of this example: `python make.py OUT [LA_LOOP]`.

With the folder of the measurements it copies them under the names of the schema. Without, it writes a field of the same
shape: 40 detectors on a ring road, a day, with a jam that grows upstream in the morning and in the evening.
"""

from __future__ import annotations

import csv
import gzip
import math
import random
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

NEEDED = ("speed.csv.gz", "sensors.csv", "adjacency.csv")


def main(out: Path, data: Path | None) -> None:
    """Write the directory."""
    missing = [] if data is None else [name for name in NEEDED if not (data / name).is_file()]
    if missing:
        sys.exit(f"{data} has no {', '.join(missing)}: README.md says where the data come from")
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("schema.sql"), out / "schema.sql")
    if data is not None:
        shutil.copyfile(data / "speed.csv.gz", out / "road.csv.gz")
        for name in ("sensors.csv", "adjacency.csv"):
            shutil.copyfile(data / name, out / name)
        return
    chance, count = random.Random(2012), 40
    with (out / "sensors.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sensor_id", "latitude", "longitude"))
        for n in range(count):
            turn = 2 * math.pi * n / count
            writer.writerow((n, 34.05 + 0.05 * math.sin(turn), -118.25 + 0.06 * math.cos(turn)))
    with (out / "adjacency.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("from_id", "to_id", "weight"))
        writer.writerows((n, (n + 1) % count, 1.0) for n in range(count))
    with gzip.open(out / "road.csv.gz", "wt", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("ts", "sensor_id", "speed_mph"))
        for step in range(288):
            moment = (datetime(2012, 3, 1, tzinfo=UTC) + timedelta(minutes=5 * step)).strftime(
                "%Y-%m-%d %H:%M:%S"
            )
            for n in range(count):
                jam = any(
                    0 <= step - begin < 36 and 0 <= n - 20 + (step - begin) // 3 < 8 for begin in (84, 204)
                )
                writer.writerow((moment, n, round((15 if jam else 62) + chance.gauss(0, 3), 3)))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: python make.py OUT [LA_LOOP]")
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
