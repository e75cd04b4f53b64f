"""Clusters of sensors, each with a head: HEED forms them, and they change while a field is running."""

from nilometer.sensornet.clusters.changing import ChangingField, FieldPlan, Happening, Kill, Operation
from nilometer.sensornet.clusters.clusters import NO_HEAD, Clusters, clusters_of
from nilometer.sensornet.clusters.heed import Formation, Heed, MemberCost, form_clusters

__all__ = [
    "NO_HEAD",
    "ChangingField",
    "Clusters",
    "FieldPlan",
    "Formation",
    "Happening",
    "Heed",
    "Kill",
    "MemberCost",
    "Operation",
    "clusters_of",
    "form_clusters",
]
