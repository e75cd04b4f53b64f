"""A layout run in this process, as Spark would: doors, readers, and every bucket of every stage, batch by batch.

It stands in for the cluster in tests of layouts: rows are divided and travel as packets do, all buckets get the clock in every
batch, and with `restarted` every bucket's state moves into a fresh flow between two batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from nilometer.dataflow.pulled import PulledInlet
from nilometer.dataflow.sources import Sources
from nilometer.dataflow.watermark import leaves, query_watermark
from nilometer.operators.frames import concatenate
from nilometer.operators.logic import Output
from nilometer.plan import physical
from nilometer.spark.layout import (
    BucketFlow,
    Clock,
    Fragment,
    Layout,
    by_tick,
    columns_of,
    divide,
    gathered,
)


@dataclass
class Pipeline:
    plan: physical.Node
    layout: Layout
    sources: Sources
    batch_rows: int | None = None
    finished: bool = True
    restarted: bool = False
    inlets: dict[str, PulledInlet] = field(default_factory=dict)
    flows: dict[tuple[int, int], BucketFlow] = field(default_factory=dict)
    batches: int = 0

    def __post_init__(self) -> None:
        for node in physical.walk_plan(self.plan):
            if isinstance(node, physical.SpAcquire):
                self.inlets.setdefault(node.stream.name.lower(), PulledInlet(node.stream, self.sources))
        for fragment in self.layout.fragments:
            for bucket in range(fragment.buckets):
                self.flows[fragment.number, bucket] = self.fresh(fragment, bucket)

    def fresh(self, fragment: Fragment, bucket: int) -> BucketFlow:
        return BucketFlow(fragment, bucket, self.layout, self.sources)

    def collect(self) -> pl.DataFrame:
        """The whole answer."""
        frames = [self.step()]
        while not all(inlet.ended for inlet in self.inlets.values()):
            if self.restarted:
                self.restart()
            frames.append(self.step())
        return pl.concat(frames)

    def restart(self) -> None:
        for fragment in self.layout.fragments:
            for bucket in range(fragment.buckets):
                flow = self.fresh(fragment, bucket)
                flow.restore(self.flows[fragment.number, bucket].snapshot())
                self.flows[fragment.number, bucket] = flow

    @property
    def clock(self) -> Clock:
        doors = {name: inlet.door for name, inlet in self.inlets.items()}
        ended = [name for name, inlet in self.inlets.items() if self.finished and inlet.ended]
        watermark = query_watermark(leaves(self.plan), doors, ended)
        ticks = {name: inlet.door.first_tick for name, inlet in self.inlets.items()}
        return Clock(watermark, {name: tick for name, tick in ticks.items() if tick is not None})

    def step(self) -> pl.DataFrame:
        """One batch through all stages."""
        running = [inlet for inlet in self.inlets.values() if not inlet.ended]
        behind = min((inlet.door.watermark for inlet in running), default=None)
        admitted = {
            name: inlet.pull(self.batch_rows)
            for name, inlet in self.inlets.items()
            if not inlet.ended and inlet.door.watermark == behind
        }
        clock, first = self.clock, self.batches == 0
        self.batches += 1
        sent: dict[tuple[int, int, int], list[Output]] = {}
        answers = []
        # As on Spark: stage after stage, whatever order the fragments are listed in.
        for fragment in sorted(self.layout.fragments, key=lambda fragment: fragment.stage):
            for bucket in range(fragment.buckets):
                inputs = [self.received(sent, number, fragment, bucket) for number in fragment.inputs]
                flow = self.flows[fragment.number, bucket]
                output = flow.step(clock, inputs, first, admitted if fragment.stage == 0 else None)
                if fragment.target is None:
                    answers.append(output)
                else:
                    self.send(sent, fragment, output)
        rows = by_tick([output.rows for output in answers if output.rows.height])
        return concatenate(rows, columns_of(self.layout.fragments[-1].plan))

    def send(
        self, sent: dict[tuple[int, int, int], list[Output]], fragment: Fragment, output: Output
    ) -> None:
        assert fragment.target is not None
        target = self.layout.fragments[fragment.target]
        assert target.stage > fragment.stage
        parts = dict(divide(output.rows, fragment.keys, target.buckets, fragment.copying))
        for bucket in range(target.buckets):
            rows = parts.get(bucket, output.rows.clear())
            sent.setdefault((target.number, fragment.number, bucket), []).append(
                Output(rows, output.evaluations)
            )

    def received(
        self, sent: dict[tuple[int, int, int], list[Output]], number: int, fragment: Fragment, bucket: int
    ) -> Output:
        parts: Sequence[Output] = sent.get((fragment.number, number, bucket), [])
        return gathered(parts, columns_of(self.layout.fragments[number].plan))
