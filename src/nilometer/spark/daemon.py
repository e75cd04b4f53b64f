"""The parent of Spark's Python workers, with what they need already in memory.

Spark forks a worker for every task that runs at once, of a daemon that has imported nothing but PySpark: each would import Polars, numba
and Nilometer for itself, for seconds. This daemon imports them once, before it forks. (`spark.python.daemon.module`, see session.py.)
"""

from __future__ import annotations

import os

# As many workers run at once as there are cores: one thread each. Before Polars is imported, which reads it then.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

from pyspark.daemon import manager

from nilometer.spark.warm.prepare import prepare


def main() -> None:
    """Serve forks until Spark closes our input."""
    prepare()
    manager()


if __name__ == "__main__":
    main()
