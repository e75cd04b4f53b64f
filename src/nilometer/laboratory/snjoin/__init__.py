"""Distributed SNJoin: joins each tuple with the tuples of equal value in other streams, over clusters of
sensors (sections 5 and 6).

`form_clusters` makes clusters, and `run_join` runs the join over them in a simulated network.
`central_answers` gives the answers of a single place that has all readings.
"""

from nilometer.laboratory.snjoin.central import central_answers
from nilometer.laboratory.snjoin.clusters import NO_HEAD, Clusters, clusters_of
from nilometer.laboratory.snjoin.heed import Formation, Heed, MemberCost, form_clusters
from nilometer.laboratory.snjoin.matches import Answers, Matches
from nilometer.laboratory.snjoin.query import Deployment, JoinQuery
from nilometer.laboratory.snjoin.readings import Readings, sensed
from nilometer.laboratory.snjoin.relevance import EveryHead, Feedback, Note, Strategy
from nilometer.laboratory.snjoin.run import JoinRunResult, radio_arrivals, recall, run_join, suggested_delay
from nilometer.laboratory.snjoin.tours import selective_tours

__all__ = [
    "Answers",
    "Clusters",
    "Deployment",
    "EveryHead",
    "Feedback",
    "Formation",
    "Heed",
    "JoinQuery",
    "Matches",
    "MemberCost",
    "NO_HEAD",
    "Note",
    "JoinRunResult",
    "Readings",
    "Strategy",
    "central_answers",
    "clusters_of",
    "form_clusters",
    "radio_arrivals",
    "recall",
    "run_join",
    "selective_tours",
    "sensed",
    "suggested_delay",
]
