"""`nilometer bench edge`: the stream log by itself, a source that offers too much, and MQTT to the log through a real Mosquitto where there is one."""

from __future__ import annotations

import shutil

from nilometer.laboratory.benchmarks.edge_log import edge_log, targets
from nilometer.laboratory.benchmarks.edge_overload import edge_overload
from nilometer.laboratory.benchmarks.result import Result
from nilometer.laboratory.benchmarks.single_core import on_one_core


def edge(rows: int, sensors: int) -> Result:
    """All of it."""
    return on_one_core(__name__, rows, sensors)


def measure(rows: int, sensors: int) -> Result:
    """What the process of its own runs: the log takes four times the rows, MQTT a fifth of them."""
    log = edge_log(4 * rows)
    flood, flat = edge_overload(20 * rows)
    measurements, goals = [*log, flood], [*targets(log), flat]
    setting = f"{4 * rows:,} rows to the log, one core; peers: a bare write, Polars reading Parquet"
    if shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"):
        from nilometer.laboratory.benchmarks.edge_mqtt import edge_mqtt

        mqtt = edge_mqtt(rows // 5, sensors)
        measurements += mqtt.measurements
        goals += mqtt.targets
        setting += f"; {mqtt.setting}"
    else:
        setting += "; no Mosquitto here, so MQTT is left out (apt install mosquitto)"
    return Result("edge", "peer", setting, tuple(measurements), tuple(goals))
