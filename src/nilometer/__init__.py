"""Nilometer: a database for sensor streams.

>>> db = connect()
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

from nilometer.engine import Answer, Database, Query, connect
from nilometer.errors import NilometerError

__version__ = "0.1.0"

__all__ = ["Answer", "Database", "NilometerError", "Query", "__version__", "connect"]
