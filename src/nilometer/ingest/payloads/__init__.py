"""Payloads -> typed rows: JSON, SenML and CSV, many messages at once.

The law: never a Python object for each reading while payloads are sound; never an exception for what is in one.
"""

from nilometer.ingest.payloads.decoder import Decoder, Format, Times, format_of
from nilometer.ingest.payloads.messages import Decoded, Garbled, Messages
from nilometer.ingest.payloads.topics import TopicPattern

__all__ = ["Decoded", "Decoder", "Format", "Garbled", "Messages", "Times", "TopicPattern", "format_of"]
