"""Nilometer: a database for sensor streams.

>>> import nilometer
>>> db = nilometer.connect()
>>> _ = db.execute("CREATE STREAM river (depth INT) SENSED EVERY 15 MINUTES")
>>> db.append(
...     "river",
...     [
...         {"time": "2026-01-01T00:00Z", "id": 5, "depth": 12},
...         {"time": "2026-01-01T00:15Z", "id": 5, "depth": 9},
...     ],
... )
2
>>> [row["depth"] for row in db.sql("SELECT depth FROM river WHERE depth > 10")]
[12]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nilometer.compiled_code import keep_compiled_code
from nilometer.errors import NilometerError

if TYPE_CHECKING:
    from nilometer.engine import Answer, Database, Query, connect

keep_compiled_code()

__version__ = "0.1.0"

__all__ = ["Answer", "Database", "NilometerError", "Query", "__version__", "connect"]


def __getattr__(name: str) -> Any:
    """What the engine offers, when it is first asked for: the many workers of a Spark query never ask."""
    if name in ("Answer", "Database", "Query", "connect"):
        import nilometer.engine

        return getattr(nilometer.engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
