"""The settings of a station that a person may choose."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.dataflow.graph import ANSWER_ROWS
from nilometer.ingest.manager import ManagerSettings
from nilometer.log import LogSettings
from nilometer.types import SECOND


@dataclass(frozen=True)
class StationSettings:
    """`heartbeat`: the longest time, in microseconds, that a sensor that filters stays silent before it sends
    a heartbeat.

    `answer_rows`: how many rows of a query may wait to be fetched. `logging` and `managing` are the settings
    of the logs and of the stream manager; None: the defaults.
    """

    heartbeat: int = 10 * SECOND
    answer_rows: int = ANSWER_ROWS
    logging: LogSettings | None = None
    managing: ManagerSettings | None = None
