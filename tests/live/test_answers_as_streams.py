"""A standing query's answers as a stream, while other streams never rest."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from nilometer.catalog.answer_streams import is_answers
from nilometer.catalog.extents import Stream
from nilometer.engine import connect
from nilometer.ingest.adapters import Adapter, ReadResult, Status
from nilometer.ingest.adapters.adapter import Clock
from nilometer.ingest.adapters.wake import Wake
from nilometer.live.answers_adapter import AnswersAdapter
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.types import SECOND

START = 1_767_225_600_000_000


class Restless(Adapter):
    """A source that has a reading whenever it is asked."""

    def __init__(self, stream: Stream, clock: Clock) -> None:
        super().__init__(stream, clock)
        self.wake = Wake()
        self.turns = 0

    def open(self) -> None:
        """Nothing to open."""

    def read(self) -> ReadResult:
        """One more reading; after very many none, so that a loop that waits for that ends."""
        self.turns += 1
        if self.turns > 1_000:
            return self.nothing(Status.NO_VALUE)
        row = {"time": [START + self.turns * SECOND], "id": [1], "x": [1.0]}
        return ReadResult(Status.NEW_VALUE, pl.DataFrame(row))

    def close(self) -> None:
        """Nothing to close."""


def test_a_stream_that_never_rests_holds_up_nobody_who_asks_for_answers(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE STREAM air (x FLOAT) PUSHED FROM 'bench://air';")
    database = connect(tmp_path)

    restless: list[Restless] = []

    def adapter_of(stream: Stream, clock: Clock) -> Adapter:
        if is_answers(stream):
            return AnswersAdapter(stream, clock, tmp_path)
        restless.append(Restless(stream, clock))
        return restless[-1]

    with Station(database, tmp_path, None, Outside(clock=lambda: START, adapter_of=adapter_of)) as station:
        database.execute("CREATE QUERY all_of_it AS SELECT time, id, x FROM air")
        standing = database.catalog.query("all_of_it")
        assert standing is not None
        station.install(database.sql(standing.text), "all_of_it", durable=True)
        for _ in range(5):
            station.step()
        asked = station.install(database.sql("SELECT time, id FROM all_of_it"), "asked")
        for _ in range(5):
            station.step()
        assert asked.rows > 0
        assert sum(each.turns for each in restless) < 20
