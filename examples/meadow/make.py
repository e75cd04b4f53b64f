"""Makes the files of this example: `python make.py`. Forty motes on a meadow, and haze that drifts across it."""

from __future__ import annotations

import csv
import gzip
import io
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
START = datetime(2026, 3, 1, 6, tzinfo=UTC)
MINUTES = 36
LATE = {17: 12, 32: 15}
"""Motes that are put up later, after so many minutes."""
RADIO = 48.0


def main() -> None:
    """Write motes.csv, meadow.toml and air.csv.gz."""
    chance = random.Random(7)
    places = {
        1 + 8 * row + column: (
            round(25 * column + chance.uniform(-8, 8), 1),
            round(25 * row + chance.uniform(-8, 8), 1),
        )
        for row in range(5)
        for column in range(8)
    }
    with (HERE / "motes.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", "x", "y", "patience"))
        # Motes in the west keep a reading for three minutes, those in the east for eight.
        writer.writerows((mote, *place, 3 if place[0] < 90 else 8) for mote, place in places.items())
    nodes = {0: (90.0, -20.0)} | places
    lines = [
        "# Forty motes on a meadow of 200 m by 125 m; node 0 delivers. Radios reach 48 m.",
        "",
        "[network]",
        "sink = 0",
    ]
    lines += ['profile = "mica2"', "", "[defaults]", "ram = 4096", "flash = 131072", "energy = 31320.0"]
    for mote, (x, y) in nodes.items():
        lines += ["", "[[nodes]]", f"id = {mote}", f"location = [{x}, {y}]"]
        lines += ['streams = ["air"]'] if mote else []
    for one in nodes:
        for other in nodes:
            away = math.dist(nodes[one], nodes[other])
            if one < other and away <= RADIO:
                quality = round(1.0 - 0.3 * max(0.0, 2 * away / RADIO - 1), 2)
                lines += ["", "[[links]]", f"source = {one}", f"target = {other}", f"quality = {quality}"]
    (HERE / "meadow.toml").write_text("\n".join(lines) + "\n")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("time", "id", "haze"))
    for minute in range(MINUTES):
        moment = (START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")
        clouds = [
            (6.5 * minute - 20, 30 + 1.2 * minute, 95.0),
            (210 - 5.0 * minute, 100 - 0.8 * minute, 70.0),
        ]
        for mote, (x, y) in places.items():
            if minute < LATE.get(mote, 0):
                continue
            dense = sum(
                most * math.exp(-((x - across) ** 2 + (y - up) ** 2) / (2 * 24.0**2))
                for across, up, most in clouds
            )
            writer.writerow((moment, mote, round((12 + dense + chance.gauss(0, 1.5)) / 2) * 2))
    with gzip.GzipFile(HERE / "air.csv.gz", "wb", mtime=0) as file:
        file.write(text.getvalue().encode())


if __name__ == "__main__":
    main()
