"""`nilometer bench edge`: the stream log by itself, an overloading source, and MQTT to the log.

The MQTT part runs through a real Mosquitto, if one is installed.
"""

from __future__ import annotations

import shutil

from nilometer.laboratory.benchmarks.edge_log import edge_log, targets
from nilometer.laboratory.benchmarks.edge_overload import edge_overload
from nilometer.laboratory.benchmarks.result import Result
from nilometer.laboratory.benchmarks.single_core import on_one_core


def edge(rows: int, sensors: int) -> Result:
    """Run all parts."""
    return on_one_core(__name__, rows, sensors)


def measure(rows: int, sensors: int) -> Result:
    """The part that runs in its own process. The log takes four times the rows, MQTT a fifth of them."""
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
