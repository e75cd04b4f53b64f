"""The parent of Spark's Python workers, which has imported what they need.

Spark forks a worker for every concurrent task, from a daemon that has imported only PySpark. Each worker
would then import Polars, numba and Nilometer itself, which takes seconds. This daemon imports them once,
before it forks. (`spark.python.daemon.module`, see session.py.)
"""

from __future__ import annotations

import os

# As many workers run at once as there are cores, so each gets one thread. Set this before the import of
# Polars, which reads it.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

from pyspark.daemon import manager

from nilometer.spark.warm.prepare import prepare


def main() -> None:
    """Serve forks until Spark closes our input."""
    prepare()
    manager()


if __name__ == "__main__":
    main()
