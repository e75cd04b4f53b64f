"""Composes it all: parse, bind, optimize, choose, run; holds the catalog and the data at hand."""

from nilometer.engine.database import Database, connect
from nilometer.engine.query import STAGES, Query
from nilometer.live.answers import Answer

__all__ = ["STAGES", "Answer", "Database", "Query", "connect"]
