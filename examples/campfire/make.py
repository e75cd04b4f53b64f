"""Makes the directory of this example: `python make.py OUT [SMOKE_PM25]`.

With the folder of the measurements (README.md says where they come from) it copies them under the names of the schema.
Without, it writes a field of the same shape: 134 monitors, hourly, and a plume that the wind carries to the south-west.
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

FIRE = (-121.62, 39.76)
START = datetime(2018, 11, 8, 8, tzinfo=UTC)
NEEDED = ("camp_fire_2018_pm25.csv.gz", "camp_fire_2018_monitors.csv")


def main(out: Path, data: Path | None) -> None:
    """Write the directory."""
    missing = [] if data is None else [name for name in NEEDED if not (data / name).is_file()]
    if missing:
        sys.exit(f"{data} has no {', '.join(missing)}: README.md says where the data come from")
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("schema.sql"), out / "schema.sql")
    if data is not None:
        shutil.copyfile(data / "camp_fire_2018_pm25.csv.gz", out / "air.csv.gz")
        shutil.copyfile(data / "camp_fire_2018_monitors.csv", out / "monitors.csv")
        return
    chance = random.Random(2018)
    places = {
        f"monitor-{n:03d}": (chance.uniform(-124, -119), chance.uniform(36.5, 40.5)) for n in range(134)
    }
    with (out / "monitors.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("monitor_id", "longitude", "latitude", "locationName", "countyName"))
        writer.writerows((name, x, y, name, "") for name, (x, y) in places.items())
    with gzip.open(out / "air.csv.gz", "wt", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("ts_utc", "monitor_id", "pm25_ugm3"))
        for hour in range(120):
            moment = (START + timedelta(hours=hour)).strftime("%Y-%m-%d %H:%M:%S")
            middle = FIRE[0] - 0.05 * hour, FIRE[1] - 0.06 * hour
            for name, (x, y) in places.items():
                near = (
                    math.exp(-((x - middle[0]) ** 2 + (y - middle[1]) ** 2) / 0.8) if 6 <= hour < 60 else 0.0
                )
                writer.writerow((moment, name, round(8 + 150 * near + chance.gauss(0, 2), 2)))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: python make.py OUT [SMOKE_PM25]")
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
