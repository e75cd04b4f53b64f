"""A placement -> text for EXPLAIN, one stage per file, and JSON for programs that draw it."""

from nilometer.placement.text.agenda import agenda_text
from nilometer.placement.text.as_json import placement_json
from nilometer.placement.text.fragments import fragments_text
from nilometer.placement.text.placed import placed_text
from nilometer.placement.text.routing import routing_text
from nilometer.placement.text.summary import summary_text

__all__ = ["agenda_text", "fragments_text", "placed_text", "placement_json", "routing_text", "summary_text"]
