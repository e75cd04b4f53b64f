"""`nilometer bench sensorthings`: the latest value of 400 Datastreams in one request, by OGC SensorThings.

    GET /v1.1/Datastreams?$top=400&$expand=Observations($top=1;$orderby=phenomenonTime desc)

FROST answers this with a sub-query for each Datastream; its users wait for seconds (FROST-Server, issue 2323). The
server is a process of its own, and its processor time is measured, so other programs on the machine do not count. The
values are compared with those that were sent.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from nilometer.laboratory.benchmarks.http import ARROW, SCHEMA, arrow_bodies
from nilometer.laboratory.benchmarks.http_serving import get, processor, readings_of, send, serving
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target

DATASTREAMS = 400
REPEATED = 20
LAST = "$expand=" + quote("Observations($top=1;$orderby=phenomenonTime desc)", safe="()$")
ONE = "Datastreams('arrow:pm25:7')/Observations?$top=1&$orderby=" + quote("phenomenonTime desc")
RANGE = "Datastreams('arrow:pm25:7')/Observations?$top=100&$filter=" + quote(
    "phenomenonTime ge 2026-03-01T06:01:00Z and phenomenonTime lt 2026-03-01T06:03:00Z"
)
TEN = "$expand=" + quote("Observations($top=10;$orderby=phenomenonTime desc;$select=result)", safe="()$")


def sensorthings(rows: int, sensors: int) -> Result:
    """Fill a log with readings of 400 sensors, then ask."""
    del sensors
    with (
        tempfile.TemporaryDirectory(prefix="nilometer-bench-") as folder,
        serving(Path(folder), SCHEMA) as (port, server),
    ):
        send(port, server, readings_of("arrow"), ARROW, arrow_bodies(rows, DATASTREAMS, 10_000))
        began = processor(server), time.perf_counter()
        get(port, "/v1.1/Things?$top=1")
        first = processor(server) - began[0], time.perf_counter() - began[1]
        asked = {
            f"last value of {DATASTREAMS} Datastreams": f"Datastreams?$top={DATASTREAMS}&{LAST}",
            f"last ten values of {DATASTREAMS} Datastreams": f"Datastreams?$top={DATASTREAMS}&{TEN}",
            "last value of one Datastream": ONE,
            "two minutes of one Datastream": RANGE,
        }
        found = {task: _timed(port, server, task, path, rows) for task, path in asked.items()}
    measurements = tuple(each for each, _ in found.values())
    spent = {task: seconds for task, (_, seconds) in found.items()}
    targets = (
        Target(
            f"last value of {DATASTREAMS} Datastreams, processor seconds", next(iter(spent.values())), 0.1
        ),
    )
    notes = (
        *(f"{task}: {1_000 * seconds:.1f} ms of processor time" for task, seconds in spent.items()),
        f"the first request after a start reads the log once: {first[0]:.2f} s of processor time",
    )
    return Result(
        "sensorthings", "none", f"{rows:,} readings of {DATASTREAMS} sensors", measurements, targets, notes
    )


def _timed(port: int, server: int, task: str, path: str, rows: int) -> tuple[Measurement, float]:
    answer = get(port, f"/v1.1/{path}")
    before, began = processor(server), time.perf_counter()
    for _ in range(REPEATED):
        get(port, f"/v1.1/{path}")
    seconds = (time.perf_counter() - began) / REPEATED
    spent = (processor(server) - before) / REPEATED
    values = answer["value"]
    equal = _right(values, rows) if "Datastreams?" in path else bool(values)
    return Measurement(task, seconds, None, rows, len(values), equal), spent


def _right(values: Iterable[dict[str, object]], rows: int) -> bool:
    """Whether each Datastream has the last value that was sent."""
    for one in values:
        sensor = int(str(one["@iot.id"]).rpartition(":")[2])
        last = (rows - 1 - sensor) // DATASTREAMS * DATASTREAMS + sensor
        newest = one["Observations"]
        if not isinstance(newest, list) or newest[0]["result"] != float(last % 97):
            return False
    return True
