"""Composes it all: parse, bind, optimize, choose, run; holds the catalog and the data at hand."""

from nilometer.engine.answers import Answer
from nilometer.engine.database import Database, connect
from nilometer.engine.query import STAGES, Query

__all__ = ["STAGES", "Answer", "Database", "Query", "connect"]
