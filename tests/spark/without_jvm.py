"""The whole pipeline of a query without a JVM: our planner, readers, packets and processors, with Spark's TwsTester as the state.

What Spark does between them (grouping by key, in any order) is done here; rows are shuffled on purpose.
"""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict

import polars as pl
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from nilometer.engine import Answer, Query
from nilometer.engine.spark import job_over_logs, land_query
from nilometer.operators.frames import dtypes, empty
from nilometer.spark import processor
from nilometer.spark.counts import Counts
from nilometer.spark.faults import CarriedError, found_in
from nilometer.spark.job import Job
from nilometer.spark.packing import unpack
from nilometer.spark.pipeline import gathered_batch
from nilometer.spark.planning import Planner, read_task
from nilometer.spark.settings import SparkSettings
from nilometer.spark.stage import Stage

BATCH_ROWS = 1_000_000


class Pipeline:
    """Runs micro-batch by micro-batch. `forgetful`: no worker remembers a bucket, every step restores its state."""

    def __init__(self, job: Job, *, seed: int = 0, forgetful: bool = False) -> None:
        self.text = job.pack()
        self.planner = Planner(self.text)
        self.testers = [TwsTester(Stage(self.text, stage + 1)) for stage in range(job.layout.stages)]
        self.place = self.planner.begin
        self._random = random.Random(seed)
        self._forgetful = forgetful
        self.counts = Counts()

    def step(self) -> list[pl.DataFrame] | None:
        """The next micro-batch's answer; None when there is nothing to read."""
        following = self.planner.latest(self.place, self.planner.job.max_rows)
        if following == self.place:
            return None
        rows = [
            (int(batch.column("key")[0].as_py()), batch.column("packet")[0].as_py())
            for task in self.planner.tasks(self.place, following)
            for batch in read_task(self.text, task)
        ]
        for tester in self.testers:
            rows = self._stage(tester, rows)
        self.planner.forget(following)
        self.place = following
        batch = gathered_batch(unpack(packet) for _, packet in rows)
        self.counts += batch.counts
        return list(batch.rows)

    def _stage(self, tester: TwsTester, rows: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        self._random.shuffle(rows)
        groups: dict[int, list[Row]] = defaultdict(list)
        for key, packet in rows:
            groups[key].append(Row(key=key, packet=packet))
        given: list[tuple[int, bytes]] = []
        for key, group in groups.items():
            if self._forgetful:
                processor._BUCKETS.clear()
            given += [(row.key, row.packet) for row in tester.test(key, group)]
        return given


def run(
    query: Query, finished: bool, batch_rows: int | None, *, buckets: int = 3, forgetful: bool = False
) -> Answer:
    """A host: the whole answer to the data at hand."""
    frames: list[pl.DataFrame] = []
    with tempfile.TemporaryDirectory(prefix="nilometer-") as folder:
        ledgers = land_query(query, folder)
        job = job_over_logs(
            query,
            SparkSettings(buckets=buckets).bucket_count,
            2,
            folder,
            ends=finished,
            max_rows=batch_rows or BATCH_ROWS,
        )
        pipeline = Pipeline(job, forgetful=forgetful)
        try:
            while (found := pipeline.step()) is not None:
                frames += found
        except CarriedError as error:
            ours = found_in(str(error))
            assert ours is not None
            raise ours from None
    frame = pl.concat(frames) if frames else empty(dtypes(query.schema))
    books = {
        name: {"late": pipeline.counts.late_of.get(name, 0), "shed": pipeline.counts.shed_of.get(name, 0)}
        for name in ledgers
    }
    return Answer(query.schema, frame, None, books)


def forgetful(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The same, with every bucket restored in every micro-batch."""
    return run(query, finished, batch_rows, forgetful=True)
