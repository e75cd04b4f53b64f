"""A life of standing queries on Spark, for tests to end: `python standing_life.py DIRECTORY NAME...` answers for all that the logs hold."""

from __future__ import annotations

import sys
from pathlib import Path

import nilometer
from nilometer.live.spark_query import SparkQuery
from nilometer.live.starts import BEGINNING
from nilometer.spark.settings import SparkSettings

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    # A life is short: what the better compiler makes is not paid back.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def main(directory: Path, names: list[str]) -> None:
    # Where the environment names a cluster, there.
    elsewhere = dict(SparkSettings.from_environment().options)
    master = SparkSettings.from_environment().master
    settings = SparkSettings(
        master=master or "local[2]", buckets=2, max_rows=800, options=elsewhere if master else SETTINGS
    )
    database = nilometer.connect(directory)
    queries = [
        SparkQuery(directory, name, database.query(name), start=BEGINNING, clock=lambda: 0, settings=settings)
        for name in names
    ]
    for query in queries:
        query.start()
    for query in queries:
        query.catch_up()
        print(query.name, query.rows, query.metrics.ledger, flush=True)
    for query in queries:
        query.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
