"""Writes the four files of the tutorial (docs/tutorial.md): three days of an invented orchard, always the same.

./nilo python examples/first-hour/make.py
"""

from __future__ import annotations

import gzip
import json
import math
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

BEGIN = datetime(2026, 6, 1, tzinfo=ZoneInfo("Europe/Zurich")).astimezone(UTC)
DAYS = 3
PROBES = {  # name: (longitude, latitude, plot, crop, nearest station, moisture at first)
    "probe-1": (9.0121, 46.0011, "terrace", "apricot", "slope", 34.0),
    "probe-2": (9.0134, 46.0007, "terrace", "apricot", "slope", 31.0),
    "probe-3": (9.0140, 46.0019, "meadow", "pear", "valley", 38.0),
}
RUNS = (  # pump, hour of its start since the beginning, minutes
    ("pump-a", 6.0, 42),
    ("pump-b", 6.5, 25),
    ("pump-a", 20.0, 75),
    ("pump-a", 30.25, 40),
    ("pump-b", 31.0, 95),
    ("pump-a", 54.0, 38),
    ("pump-b", 55.5, 20),
    ("pump-b", 68.0, 30),
)


def weather() -> str:
    """A logger's export: semicolons, decimal commas, local times."""
    chance = random.Random(1)
    lines = ["Zeit;Station;Lufttemperatur;Regen"]
    for half in range(DAYS * 48):
        moment = BEGIN + timedelta(minutes=30 * half)
        wall = moment.astimezone(ZoneInfo("Europe/Zurich"))
        day = math.sin((wall.hour + wall.minute / 60 - 9) / 12 * math.pi)
        for station, warmer in (("valley", 1.5), ("slope", 0.0)):
            rain = chance.choice((0.2, 0.6, 1.4)) if 30 <= half / 2 < 34 else 0.0
            heat = 17 + 6 * day + warmer + chance.uniform(-0.4, 0.4) - (3 if rain else 0)
            values = (f"{heat:.1f}".replace(".", ","), f"{rain:.1f}".replace(".", ","))
            lines.append(";".join((f"{wall:%d.%m.%Y %H:%M}", station, *values)))
    return "\n".join(lines) + "\n"


def soil() -> str:
    """An export of The Things Network: one message a line, the values deep inside."""
    chance = random.Random(2)
    lines = []
    for turn in range(DAYS * 12):
        for number, (name, (*_, moisture)) in enumerate(PROBES.items()):
            moment = BEGIN + timedelta(hours=2 * turn, minutes=7 * number, seconds=chance.randrange(60))
            hours = 2 * turn
            wet = moisture - 0.18 * hours + (5 if hours > 32 else 0) + chance.uniform(-0.3, 0.3)
            message = {
                "end_device_ids": {"device_id": name},
                "received_at": f"{moment:%Y-%m-%dT%H:%M:%S}.{chance.randrange(1000):03}Z",
                "uplink_message": {
                    "decoded_payload": {"moisture": round(wet, 1), "battery": 3.6},
                    "rx_metadata": [{"rssi": -90 - chance.randrange(20)}],
                },
            }
            lines.append(json.dumps(message, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def pumps() -> str:
    """Two smart plugs that report each minute while a pump runs. They send bundles, so the rows are out of order."""
    chance = random.Random(3)
    rows = []
    for pump, start, minutes in RUNS:
        for minute in range(minutes):
            moment = BEGIN + timedelta(hours=start, minutes=minute, milliseconds=chance.randrange(900))
            rows.append((int(moment.timestamp() * 1000), pump, 740 + chance.randrange(60)))
    rows.sort()
    bundles = [rows[at : at + 12] for at in range(0, len(rows), 12)]
    for at in range(0, len(bundles) - 1, 5):
        bundles[at], bundles[at + 1] = bundles[at + 1], bundles[at]
    lines = [f"{stamp},{pump},{power}" for bundle in bundles for stamp, pump, power in bundle]
    return "\n".join(["ts,device,power_w", *lines]) + "\n"


def places() -> str:
    """Where the probes are, as a map program saves it."""
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [longitude, latitude]},
            "properties": {"name": name, "plot": plot, "crop": crop, "station": station},
        }
        for name, (longitude, latitude, plot, crop, station, _) in PROBES.items()
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, indent=1) + "\n"


def files() -> dict[str, bytes]:
    """The names of the files, and what they hold."""
    return {
        "weather.csv": weather().encode(),
        "soil.jsonl": soil().encode(),
        "pumps.csv.gz": gzip.compress(pumps().encode(), mtime=0),
        "places.geojson": places().encode(),
    }


if __name__ == "__main__":
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, content in files().items():
        (directory / name).write_bytes(content)
