"""The engine composes all parts: it parses, binds, optimizes, chooses and runs, and holds the catalog and the
available data."""

from nilometer.engine.database import Database, connect
from nilometer.engine.query import STAGES, Query
from nilometer.live.answers import Answer

__all__ = ["STAGES", "Answer", "Database", "Query", "connect"]
