"""A stage of the gateway's dataflow as a module: the same Logic in another shell.

`LeafModule` turns waves into the tuples of a stream and keeps the books of its queries; `OperatorModule` waits until each
input has the message of the round; `ScanModule` pulls a stored table in the first round, and passes on its later versions.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from nilometer.dataflow.fjord.books import Books
from nilometer.dataflow.fjord.folding import StoredTable
from nilometer.dataflow.fjord.messages import Message, Status, Wave
from nilometer.dataflow.fjord.module import Module
from nilometer.dataflow.fjord.queues import Queue
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.stages import Stage, shed_by
from nilometer.operators.logic import Output, no_evaluations


class StageModule(Module):
    """What they share: the stage, and its state."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.name)
        self.stage = replace(stage, inputs=tuple(range(len(stage.inputs))))

    def snapshot(self) -> dict[str, bytes]:
        """The stage's panes."""
        return self.stage.worker.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self.stage.worker.restore(panes)


class LeafModule(StageModule):
    """The tuples of a stream, of each wave, as the plan wants them."""

    def __init__(self, stage: Stage, stream: str, waves: Queue[Wave]) -> None:
        super().__init__(stage)
        self.books = Books()
        self._stream = stream
        self._waves = waves

    def _step(self) -> Status:
        wave = self._waves.get()
        if wave is None:
            return Status.END if self._waves.ended else Status.IDLE
        output = self.stage.step((), wave.now)
        arrival = wave.arrivals.get(self._stream)
        if arrival is not None:
            self.books.note(arrival.rows.height, output.rows.height, arrival.late, arrival.shed)
        self.give(Message(wave, output))
        return Status.WORKED

    @property
    def ledger(self) -> QueryLedger:
        """What became of the tuples of the stream here."""
        return self.books.ledger

    def snapshot(self) -> dict[str, bytes]:
        return super().snapshot() | self.books.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        super().restore(panes)
        self.books.restore(panes)


class OperatorModule(StageModule):
    """A shell around a Logic. State: the messages of the round that have come; when all have, it works."""

    def __init__(self, stage: Stage, inputs: tuple[Queue[Message], ...]) -> None:
        super().__init__(stage)
        self._inputs = inputs
        self._taken: list[Message | None] = [None] * len(inputs)

    @property
    def shed(self) -> int:
        """The tuples that a join has given up for want of memory."""
        return sum(shed_by(self.stage.worker))

    def _step(self) -> Status:
        for place, queue in enumerate(self._inputs):
            if self._taken[place] is None:
                self._taken[place] = queue.get()
        taken = [message for message in self._taken if message is not None]
        if len(taken) < len(self._inputs):
            ended = all(queue.ended for queue in self._inputs) and not taken
            return Status.END if ended else Status.IDLE
        wave = taken[0].wave
        assert all(message.wave.number == wave.number for message in taken), "messages of different rounds"
        output = self.stage.step([message.output for message in taken], wave.now)
        self._taken = [None] * len(self._inputs)
        self.give(Message(wave, output))
        return Status.WORKED


class ScanModule(StageModule):
    """A stored table's rows in the first wave: pulled piece by piece, one a transition; and in a wave that brings its next version."""

    def __init__(
        self, stage: Stage, waves: Queue[Wave], pieces: Queue[pl.DataFrame], table: StoredTable
    ) -> None:
        super().__init__(stage)
        self._waves = waves
        self._table = pieces
        self._name = table.name.lower()
        self._prepare = table.prepare
        self._nothing = table.nothing
        self._wave: Wave | None = None
        self._pieces: list[pl.DataFrame] = []

    def _step(self) -> Status:
        if self._wave is None:
            self._wave = self._waves.get()
        wave = self._wave
        if wave is None:
            return Status.END if self._waves.ended else Status.IDLE
        rows = self._nothing
        if wave.now.first:
            piece = self._table.get()
            if piece is not None:
                self._pieces.append(piece)
                return Status.WORKED
            rows = pl.concat(self._pieces) if self._pieces else self._nothing
            self._pieces = []
        elif (version := wave.now.tables.get(self._name)) is not None:
            rows = self._prepare(version)
        for transform in self.stage.transforms:
            rows = transform(rows)
        self._wave = None
        self.give(Message(wave, Output(rows, no_evaluations())))
        return Status.WORKED
