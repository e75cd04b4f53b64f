"""Phenomena inside a sensor network: heads count and group, the sink tracks."""

from nilometer.sensornet.phenomena.grouping import Grouping, local_grouping
from nilometer.sensornet.phenomena.work import PhenomenaWork, Sensed

__all__ = ["Grouping", "PhenomenaWork", "Sensed", "local_grouping"]
