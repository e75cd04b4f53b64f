"""Runs one physical plan over its sources: the answer comes round by round, in event time.

The caller pulls the answer. In every round the streams whose watermark is lowest bring their next batch, and
the rows flow through the dataflow once. So no stream runs ahead of the others by more than a batch, and
memory stays bounded by the windows.

The law: how the logs are cut into batches changes no answer. After the last row that LIMIT allows, the run is
over, and the rest of the logs is not read.
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
class RunSummary:
    """The outcome of a run: rows delivered, rounds, the watermark (None: the plan reads no stream), each
    stream's ledger, and by stream the number of accepted tuples that joins have shed."""

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
    """A query in progress on the gateway: iterate over it for the answer's frames, then ask for the
    `summary`.

    With `finished` False the run gives the answer so far, as if the streams still ran: the end of a log does
    not raise the watermark. `versions` are the later versions of the tables. Each gets a round of its own
    after the first round, before any reading. `flow` is a dataflow of the plan other than its own.
    """

    def __init__(
        self,
        plan: physical.Node,
        sources: Sources,
        batch_rows: int | None = BATCH_ROWS,
        *,
        finished: bool = True,
        versions: Sequence[TableVersion] = (),
        flow: Dataflow | None = None,
    ) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise InternalError("batches of no rows")
        self.schema = answer_schema(plan)
        self.flow = Dataflow(plan, sources) if flow is None else flow
        streams = physical.streams_of(plan)
        self._inlets = {name: PulledInlet(stream, sources) for name, stream in streams.items()}
        self._pace = Pace(leaves(plan), self._inlets, ends=finished)
        for version in sorted(versions, key=lambda each: each.holds_from):
            self._pace.refresh(version)
        self._batch_rows = batch_rows
        self._most = physical.most_rows(plan)
        self._rows_out = 0
        self.over = False

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yield the answer's frames with rows, round by round."""
        while not self.over:
            rows = self.step()
            if rows.height:
                yield rows

    def collect(self) -> pl.DataFrame:
        """The whole answer, or the rest of it."""
        frames = list(self)
        return pl.concat(frames) if frames else empty(dtypes(self.schema))

    def step(self) -> pl.DataFrame:
        """Run one round and return its part of the answer."""
        if self._pace.has_version:
            return self._turn(self._pace.version_round())
        open_inlets = [inlet for inlet in self._inlets.values() if not inlet.ended]
        behind = min((inlet.door.watermark for inlet in open_inlets), default=None)
        admitted = {
            name: inlet.pull(self._batch_rows)
            for name, inlet in self._inlets.items()
            if not inlet.ended and inlet.door.watermark == behind
        }
        summaries = {name: found for name in admitted if (found := self._inlets[name].summaries) is not None}
        rows = self._turn(self._pace.round(admitted, summaries=summaries))
        ended = all(inlet.ended for inlet in self._inlets.values())
        self.over = ended or (self._most is not None and self._rows_out >= self._most)
        return rows

    def _turn(self, now: Round) -> pl.DataFrame:
        rows = self.flow.step(now).rows
        self._rows_out += rows.height
        return rows

    @property
    def watermark(self) -> int:
        """Every tick below it has been evaluated, or is being evaluated in this round."""
        return self._pace.watermark

    @property
    def summary(self) -> RunSummary:
        """The outcome of the run so far."""
        ledgers = {name: inlet.door.ledger for name, inlet in self._inlets.items()}
        watermark = self.watermark if self._pace.leaves else None
        return RunSummary(self._rows_out, self._pace.rounds, watermark, ledgers, self.flow.shed)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, dict[str, bytes]]:
        """The whole state between two rounds: the panes of every stage and of every stream's inlet."""
        inlets = {f"inlet {name}": inlet.snapshot() for name, inlet in self._inlets.items()}
        numbers = {"rows_out": str(self._rows_out), "over": str(int(self.over))}
        run = {
            "run": {name: text.encode() for name, text in numbers.items()},
            "rounds": self._pace.snapshot(),
        }
        return run | inlets | self.flow.snapshot()

    def restore(self, panes: dict[str, dict[str, bytes]]) -> None:
        """Go on from a snapshot of the same plan over the same sources."""
        self._pace.restore(panes["rounds"])
        self._rows_out = int(panes["run"]["rows_out"])
        self.over = bool(int(panes["run"]["over"]))
        for name, inlet in self._inlets.items():
            inlet.restore(panes[f"inlet {name}"])
        self.flow.restore(panes)


def answer_schema(plan: physical.Node) -> Schema:
    """The columns of the answer: the plan's own, with `tick` before them if the rows carry it."""
    if isinstance(plan, physical.Deliver) and plan.tick:
        return Schema((Column("tick", TIME), *plan.schema.columns))
    return plan.schema


def run(
    plan: physical.Node, sources: Sources, batch_rows: int | None = BATCH_ROWS, *, finished: bool = True
) -> Run:
    """Run a plan over finite logs. `batch_rows` is the number of readings that a stream brings in a round
    (None: the batches of the source)."""
    return Run(plan, sources, batch_rows, finished=finished)
