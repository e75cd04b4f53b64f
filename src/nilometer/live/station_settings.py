"""How a station works, as far as a person may choose it."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.dataflow.graph import ANSWER_ROWS
from nilometer.ingest.manager import ManagerSettings
from nilometer.log import LogSettings
from nilometer.types import SECOND


@dataclass(frozen=True)
class StationSettings:
    """`heartbeat`: how often, in microseconds, sensors that filter say that they have nothing to say. `answer_rows`: how many rows of a query may
    wait to be fetched. `logging` and `managing` are the settings of the logs and of the stream manager; None: the usual ones."""

    heartbeat: int = 10 * SECOND
    answer_rows: int = ANSWER_ROWS
    logging: LogSettings | None = None
    managing: ManagerSettings | None = None
