"""A sliding window of rows over a whole stream. Spark refuses row frames on streams, so this is the best that
it allows.

The order of rows is global, so there is one group. `applyInPandasWithState` gives it whole Arrow batches and
keeps the rows that the watermark has not passed; a rolling mean answers those that it has. `window()` cannot
do it, because a row window has no length of time.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout


def row_window(length: int, slide: int) -> Callable[[Mapping[str, DataFrame]], DataFrame]:
    """The mean of the last `length` rows, every `slide` rows, in the order (time, id)."""

    def query(streams: Mapping[str, DataFrame]) -> DataFrame:
        readings = streams["readings"].select("time", "id", "v", f.lit(0).alias("all"))
        return readings.groupBy("all").applyInPandasWithState(
            partial(answer, length, slide),
            "tick TIMESTAMP, mean DOUBLE",
            "kept BINARY, before BIGINT",
            "append",
            GroupStateTimeout.EventTimeTimeout,
        )

    return query


def answer(
    length: int, slide: int, _key: Any, frames: Iterable[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """`kept` is the end of the last window and the rows that the watermark has not passed, `before` the
    number of rows before it."""
    kept, before = state.get if state.exists else (None, 0)
    earlier, history = pickle.loads(kept) if kept is not None else (None, 0)
    # At a timeout Spark gives an empty frame, without the columns' types.
    rows = pd.concat([*([] if earlier is None else [earlier]), *(frame for frame in frames if len(frame))])
    rows = rows.sort_values(["time", "id"], ignore_index=True)
    watermark = pd.Timestamp(state.getCurrentWatermarkMs(), unit="ms").as_unit("us")
    passed = int(rows["time"].searchsorted(watermark))
    means = rows["v"].iloc[:passed].rolling(length, min_periods=1).mean()
    due = [at for at in range(history, passed) if (before + at + 1) % slide == 0]
    first = max(0, passed - length + 1)
    state.update((pickle.dumps((rows.iloc[first:], passed - first), protocol=5), before + first))
    if passed < len(rows):
        until = int(rows["time"].iloc[passed].timestamp() * 1000) + 1
        state.setTimeoutTimestamp(max(until, state.getCurrentWatermarkMs() + 1))
    if due:
        yield pd.DataFrame({"tick": rows["time"].iloc[due].to_numpy(), "mean": means.iloc[due].to_numpy()})
