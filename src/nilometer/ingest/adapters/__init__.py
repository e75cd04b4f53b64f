"""Adapters turn sources of readings into batches of typed rows, and carry commands back to the sensors. One
adapter a file.
"""

from nilometer.ingest.adapters.adapter import Adapter, Clock, Command, Presence, ReadResult, Status
from nilometer.ingest.adapters.registry import adapter_for

__all__ = ["Adapter", "Clock", "Command", "Presence", "ReadResult", "Status", "adapter_for"]
