"""A Fjord built by hand: two sources, a zipper join between them, pushed or pulled."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.dataflow import Batch
from nilometer.dataflow.fjord.messages import END
from nilometer.dataflow.fjord.queues import PullQueue, PushQueue, Queue
from nilometer.dataflow.fjord.schedulers import RoundRobin
from nilometer.dataflow.fjord.source import Source
from nilometer.dataflow.fjord.zipper_module import ZipperModule
from nilometer.dataflow.policy import Policy
from nilometer.operators.zipper_join import ZipperJoin
from nilometer.types import FLOAT, Column, Schema

DATABASE = nilometer.connect()
DATABASE.execute("CREATE STREAM up (speed FLOAT) PUSHED; CREATE STREAM down (pace FLOAT) PUSHED;")
SECOND = 1_000_000


def readings(name: str, *rows: tuple[int, float]) -> Batch:
    listed = [(time * SECOND, 1, value) for time, value in rows]
    return Batch(
        pl.DataFrame(listed, schema={"time": pl.Int64, "id": pl.Int64, name: pl.Float64}, orient="row")
    )


@pytest.mark.parametrize("pulled", [(False, False), (True, False), (True, True)])
def test_the_join_cannot_tell_who_pushes_and_who_pulls(pulled: tuple[bool, bool]) -> None:
    sources = [Source(DATABASE.catalog.stream(name), 100, Policy.BLOCK) for name in ("up", "down")]
    inputs: list[Queue[Any]] = []
    for source, pull in zip(sources, pulled, strict=True):
        queue: Queue[Any] = PullQueue(source, 1) if pull else PushQueue(1)
        source.outputs.append(queue)
        inputs.append(queue)
    spec = ZipperJoin(
        Schema((Column("speed", FLOAT),)), Schema((Column("pace", FLOAT),)), interval=30 * SECOND
    )
    zipper = ZipperModule(spec, *inputs)
    answers: PushQueue[pl.DataFrame] = PushQueue(1_000)
    zipper.outputs.append(answers)
    modules = [*(s for s, pull in zip(sources, pulled, strict=True) if not pull), zipper]
    scheduler = RoundRobin()

    def run() -> list[Any]:
        scheduler.run(modules, [zipper])
        found = []
        while (frame := answers.get()) is not None:
            found += frame.select("speed", "pace").rows()
        return found

    sources[0].entries.put(readings("speed", (1, 50.0), (31, 60.0)))
    assert run() == []
    sources[1].entries.put(readings("pace", (2, 1.5), (3, 2.5), (65, 9.0)))
    # The first interval is complete: a pair, and one that found no partner.
    assert sorted(run(), key=str) == [(50.0, 1.5), (None, 2.5)]
    for source in sources:
        source.entries.put(END)
    assert sorted(run(), key=str) == [(60.0, None), (None, 9.0)]
