"""A physical plan and its sources -> the answer, round by round, by event time.

Whoever wants the answer pulls. In every round the streams that are furthest behind bring their next batch, so that no stream
runs ahead of the others by more than a batch and windows stay the bound of memory; rows flow once through the dataflow. The law:
how the logs are cut into batches changes no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.ledger import Ledger
from nilometer.dataflow.pace import Pace
from nilometer.dataflow.pulled import BATCH_ROWS, PulledInlet
from nilometer.dataflow.sources import Sources, TableVersion
from nilometer.dataflow.stages import Round
from nilometer.dataflow.watermark import leaves
from nilometer.errors import InternalError
from nilometer.operators.frames import dtypes, empty
from nilometer.plan import physical
from nilometer.types import TIME, Column, Schema


@dataclass(frozen=True)
class Summary:
    """What a run did: rows delivered, rounds, how far event time came (None: no stream), each stream's books, and by stream
    how many accepted tuples joins have shed."""

    rows_out: int = 0
    rounds: int = 0
    watermark: int | None = None
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    shed: dict[str, int] = field(default_factory=dict)

    @property
    def rows_in(self) -> int:
        """Readings received, over all streams."""
        return sum(ledger.received for ledger in self.ledgers.values())

    @property
    def rows_late(self) -> int:
        """Late readings, over all streams."""
        return sum(ledger.late for ledger in self.ledgers.values())


class Run:
    """A query in progress on the gateway: iterate over it for the answer's frames, then ask for the `summary`.

    `finished` False is the answer so far while the streams still run: no end of a log raises the watermark. `versions` are
    what became of the tables after the first round: each has a round of its own, before any reading.
    """

    def __init__(
        self,
        plan: physical.Node,
        sources: Sources,
        batch_rows: int | None = BATCH_ROWS,
        *,
        finished: bool = True,
        versions: Sequence[TableVersion] = (),
    ) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise InternalError("batches of no rows")
        self.schema = answer_schema(plan)
        self._dataflow = Dataflow(plan, sources)
        streams = physical.streams_of(plan)
        self._inlets = {name: PulledInlet(stream, sources) for name, stream in streams.items()}
        self._pace = Pace(leaves(plan), self._inlets, ends=finished)
        for version in sorted(versions, key=lambda each: each.holds_from):
            self._pace.refresh(version)
        self._batch_rows = batch_rows
        self._rows_out = 0
        self._over = False

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The answer's frames, those with rows, as the rounds give them."""
        while not self._over:
            rows = self.step()
            if rows.height:
                yield rows

    def collect(self) -> pl.DataFrame:
        """The whole answer, or what is left of it."""
        frames = list(self)
        return pl.concat(frames) if frames else empty(dtypes(self.schema))

    def step(self) -> pl.DataFrame:
        """One round; gives its part of the answer."""
        if self._pace.has_version:
            return self._turn(self._pace.version_round())
        open_inlets = [inlet for inlet in self._inlets.values() if not inlet.ended]
        behind = min((inlet.door.watermark for inlet in open_inlets), default=None)
        admitted = {
            name: inlet.pull(self._batch_rows)
            for name, inlet in self._inlets.items()
            if not inlet.ended and inlet.door.watermark == behind
        }
        rows = self._turn(self._pace.round(admitted))
        self._over = all(inlet.ended for inlet in self._inlets.values())
        return rows

    def _turn(self, now: Round) -> pl.DataFrame:
        rows = self._dataflow.step(now).rows
        self._rows_out += rows.height
        return rows

    @property
    def watermark(self) -> int:
        """Every tick below it has been, or is just being, evaluated."""
        return self._pace.watermark

    @property
    def summary(self) -> Summary:
        """What the run has done so far."""
        ledgers = {name: inlet.door.ledger for name, inlet in self._inlets.items()}
        watermark = self.watermark if self._pace.leaves else None
        return Summary(self._rows_out, self._pace.rounds, watermark, ledgers, self._dataflow.shed)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, dict[str, bytes]]:
        """The whole state between two rounds: the panes of every stage and of every stream's entrance."""
        inlets = {f"inlet {name}": inlet.snapshot() for name, inlet in self._inlets.items()}
        numbers = {"rows_out": str(self._rows_out), "over": str(int(self._over))}
        run = {
            "run": {name: text.encode() for name, text in numbers.items()},
            "rounds": self._pace.snapshot(),
        }
        return run | inlets | self._dataflow.snapshot()

    def restore(self, panes: dict[str, dict[str, bytes]]) -> None:
        """Go on where a run of the same plan over the same sources stood."""
        self._pace.restore(panes["rounds"])
        self._rows_out = int(panes["run"]["rows_out"])
        self._over = bool(int(panes["run"]["over"]))
        for name, inlet in self._inlets.items():
            inlet.restore(panes[f"inlet {name}"])
        self._dataflow.restore(panes)


def answer_schema(plan: physical.Node) -> Schema:
    """What is delivered: the plan's columns, with `tick` before them where the rows carry it."""
    if isinstance(plan, physical.Deliver) and plan.tick:
        return Schema((Column("tick", TIME), *plan.schema.columns))
    return plan.schema


def run(
    plan: physical.Node, sources: Sources, batch_rows: int | None = BATCH_ROWS, *, finished: bool = True
) -> Run:
    """Run a plan over finite logs. `batch_rows` is how many readings a stream brings in a round (None: the source's own
    batches)."""
    return Run(plan, sources, batch_rows, finished=finished)
