"""The settings of a station that a person may choose."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.ingest.manager import ManagerSettings
from nilometer.log import LogSettings
from nilometer.types import SECOND


@dataclass(frozen=True)
class StationSettings:
    """`heartbeat`: the longest time, in microseconds, that a sensor that filters stays silent before it sends
    a heartbeat.

    `logging` and `managing` are the settings of the logs and of the stream manager; None: the defaults.
    """

    heartbeat: int = 10 * SECOND
    logging: LogSettings | None = None
    managing: ManagerSettings | None = None
