"""Sources of readings -> batches of typed rows; demand back to the sensors. One adapter a file."""

from nilometer.edge.adapters.adapter import Adapter, Clock, Command, Presence, ReadResult, Status

__all__ = ["Adapter", "Clock", "Command", "Presence", "ReadResult", "Status"]
