"""Decides what sensors do for live queries: combines the queries' demands, with a proxy for each sensor
(fjords.txt sections 3.2, 5).

The law: a sensor does the least that answers every live query, and no query can tell which others run.
"""

from nilometer.live.proxies.demand import Demand, asks_for, combine, for_sensor
from nilometer.live.proxies.demand_of import demand_of
from nilometer.live.proxies.filters import filter_text, passing, read_filter
from nilometer.live.proxies.fleet import Fleet
from nilometer.live.proxies.proxy import (
    Acknowledged,
    Command,
    Event,
    Listening,
    QueryStarted,
    QueryStopped,
    Restarted,
    SensorProxy,
    Sleep,
    StartSampling,
    Unanswered,
)
from nilometer.plan.summaries import Summary

__all__ = [
    "Demand",
    "Summary",
    "demand_of",
    "combine",
    "for_sensor",
    "asks_for",
    "Fleet",
    "filter_text",
    "read_filter",
    "passing",
    "SensorProxy",
    "Event",
    "QueryStarted",
    "QueryStopped",
    "Listening",
    "Acknowledged",
    "Restarted",
    "Unanswered",
    "Command",
    "StartSampling",
    "Sleep",
]
