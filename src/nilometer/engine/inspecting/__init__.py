"""Looks at data and proposes the declaration of its stream, with the facts that it was made from."""

from nilometer.engine.inspecting.inspection import Inspection, inspect
from nilometer.engine.inspecting.schema_file import write_schema

__all__ = ["Inspection", "inspect", "write_schema"]
