"""As-of join of two streams. Spark has none on streams, so this is the best that it allows: Python with
state.

Both streams become one, tagged. `applyInPandasWithState` (here the fastest of Spark's Python states) keeps,
by group, the rows that the watermark has not passed, and `merge_asof` answers those that it has. Grouping by
a few buckets of sensors instead of by sensor saves a Python call for every sensor and micro-batch: it is many
times faster, and no harder to write.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout


def asof_join(buckets: int) -> Callable[[Mapping[str, DataFrame]], DataFrame]:
    """For each reading of `a` the newest reading of `b` of the same sensor that is not later."""

    def query(streams: Mapping[str, DataFrame]) -> DataFrame:
        left = streams["a"].select("time", "id", f.col("x").alias("value"), f.lit(True).alias("asks"))
        right = streams["b"].select("time", "id", f.col("y").alias("value"), f.lit(False).alias("asks"))
        both = left.union(right).withColumn("bucket", f.pmod(f.col("id"), f.lit(buckets)))
        return both.groupBy("bucket").applyInPandasWithState(
            answer,
            "time TIMESTAMP, id BIGINT, x DOUBLE, y DOUBLE",
            "kept BINARY",
            "append",
            GroupStateTimeout.EventTimeTimeout,
        )

    return query


def answer(_key: Any, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Answer the rows that the watermark has passed. Of the rows of `b`, keep the last of every sensor and
    all newer ones."""
    kept = [pickle.loads(state.get[0])] if state.exists else []
    # At a timeout Spark gives an empty frame, without the columns' types.
    rows = pd.concat([*kept, *(frame for frame in frames if len(frame))])
    rows = rows.sort_values("time", kind="stable")
    watermark = pd.Timestamp(state.getCurrentWatermarkMs(), unit="ms").as_unit("us")
    passed = rows["time"] < watermark
    asks = rows["asks"].astype(bool)
    given = rows[~asks][["time", "id", "value"]].rename(columns={"value": "y"})
    asked = rows[asks & passed][["time", "id", "value"]].rename(columns={"value": "x"})
    # Of each sensor's rows of `b` before the watermark only the last can still be an answer.
    surpassed = given["time"].lt(watermark) & given["id"].where(given["time"] < watermark).duplicated(
        keep="last"
    )
    still = rows[~asks][~surpassed.to_numpy()]
    waiting = rows[asks & ~passed]
    state.update((pickle.dumps(pd.concat([still, waiting]), protocol=5),))
    if len(waiting):
        until = int(waiting["time"].iloc[0].timestamp() * 1000) + 1
        state.setTimeoutTimestamp(max(until, state.getCurrentWatermarkMs() + 1))
    if len(asked):
        yield pd.merge_asof(asked, given, on="time", by="id")
