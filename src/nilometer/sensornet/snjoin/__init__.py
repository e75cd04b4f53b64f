"""Distributed SNJoin: joins each tuple with the like tuples of other streams, over clusters of sensors (sections 5
and 6).

`run_join` runs the join over fixed clusters in a simulated network, `run_changing_join` over clusters that change.
"""

from nilometer.sensornet.snjoin.join_work import JoinLosses
from nilometer.sensornet.snjoin.matches import Answers, Matches
from nilometer.sensornet.snjoin.query import Deployment, JoinQuery
from nilometer.sensornet.snjoin.readings import Readings, sensed
from nilometer.sensornet.snjoin.relevance import EveryHead, Feedback, Note, Strategy
from nilometer.sensornet.snjoin.run import (
    JoinRunResult,
    radio_arrivals,
    recall,
    run_changing_join,
    run_join,
    suggested_delay,
)
from nilometer.sensornet.snjoin.tours import selective_tours

__all__ = [
    "Answers",
    "Deployment",
    "EveryHead",
    "Feedback",
    "JoinLosses",
    "JoinQuery",
    "JoinRunResult",
    "Matches",
    "Note",
    "Readings",
    "Strategy",
    "radio_arrivals",
    "recall",
    "run_changing_join",
    "run_join",
    "selective_tours",
    "sensed",
    "suggested_delay",
]
