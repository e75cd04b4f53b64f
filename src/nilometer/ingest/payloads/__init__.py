"""Decoders of payloads: JSON, SenML and CSV into typed rows, many messages at once.

The law: no Python object for each reading while payloads are sound, and no exception because of a payload's
contents.
"""

from nilometer.ingest.payloads.decoder import Decoder, Format, Times, format_of
from nilometer.ingest.payloads.field_counts import FieldCounts
from nilometer.ingest.payloads.messages import Decoded, Garbled, Messages
from nilometer.ingest.payloads.topics import TopicPattern

__all__ = [
    "Decoded",
    "Decoder",
    "FieldCounts",
    "Format",
    "Garbled",
    "Messages",
    "Times",
    "TopicPattern",
    "format_of",
]
