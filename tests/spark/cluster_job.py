"""A driver for the cluster: sums of a counting stream, a line of JSON on stdout for every micro-batch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import tiny
from pyspark.sql import DataFrame

from nilometer.spark.session import spark_session


def main(batches: int, checkpoint: str) -> None:
    spark = spark_session()

    def tell(frame: DataFrame, number: int) -> None:
        print(json.dumps({"batch": number, "sums": tiny.as_numbers(frame)}), flush=True)

    frame = tiny.sums(spark, batches)
    query = frame.writeStream.option("checkpointLocation", checkpoint).foreachBatch(tell).start()
    query.processAllAvailable()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
