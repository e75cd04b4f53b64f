"""A station in the hands of a test: its clocks, its disk and its sources, which give again what was not acknowledged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import nilometer
from ingest.manager.streams import Hand, Spring, Well
from log.logs import no_space
from nilometer.catalog.extents import Stream
from nilometer.dataflow.ledger import StreamLedger
from nilometer.engine import Database
from nilometer.ingest.adapters import Adapter
from nilometer.ingest.adapters.adapter import Clock
from nilometer.ingest.manager import ManagerSettings
from nilometer.live.books import ledger_of, query_books, stream_books
from nilometer.live.outside import Outside
from nilometer.live.standing import result_log
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogDirectory, LogSettings
from nilometer.plan.reference import same_answer
from nilometer.types import SECOND

SCHEMA = "CREATE STREAM river (depth FLOAT) PUSHED FROM 'test://river' DELAY 2 SECONDS KEY (id, time);\n"
QUERIES = {
    "every": "SELECT time, id, depth FROM river",
    "deep": "SELECT time, id FROM river WHERE depth > 3",
    "means": "SELECT id, AVG(depth) AS mean, COUNT(*) AS n FROM river [RANGE 3 SECONDS SLIDE 1 SECOND] GROUP BY id",
}
NOW = 1_767_225_600 * SECOND


class World:
    """The standing queries run from the beginning; `step` lets everything come to rest."""

    def __init__(self, folder: Path, **managing: object) -> None:
        self.folder = folder
        self.clock, self.steady = Hand(NOW), Hand(7 * SECOND)
        self.well = Well()
        self.full: set[str] = set()
        self.crash: BaseException | None = None
        self.settings = ManagerSettings(**managing)  # type: ignore[arg-type]
        queries = "".join(
            f"CREATE QUERY {name} STARTING AT BEGINNING AS {sql};\n" for name, sql in QUERIES.items()
        )
        (folder / "schema.sql").write_text(SCHEMA + queries)
        self.station = self.begin()

    def begin(self) -> Station:
        """A station at work."""
        database = self.database()
        station = Station(
            database,
            self.folder,
            StationSettings(logging=LogSettings(segment_bytes=3_000), managing=self.settings),
            Outside(clock=self.clock, steady=self.steady, adapter_of=self.adapter, failpoint=self.failpoint),
        )
        for definition in database.catalog.queries():
            station.install(database.sql(definition.text), definition.name, start=BEGINNING, durable=True)
        return station

    def adapter(self, stream: Stream, clock: Clock) -> Adapter:
        """The source: a well."""
        return Spring(stream, clock, self.well)

    def failpoint(self, name: str) -> None:
        """The disk."""
        if name in self.full:
            raise self.crash or no_space()

    def database(self) -> Database:
        """As another process sees the directory."""
        return nilometer.connect(self.folder)

    def pass_time(self, duration: int) -> None:
        """Both clocks run."""
        self.clock.now += duration
        self.steady.now += duration

    def step(self) -> None:
        """Until nothing moves; the books are looked at after every turn."""
        for _ in range(10_000):
            moved = self.station.step()
            self.check_books()
            if not moved:
                return
        raise AssertionError("it never comes to rest")

    def die(self) -> None:
        """Killed, and begun anew."""
        self.station.abandon()
        done = {id(each) for each in self.well.acknowledged}
        self.well.results = [each for each in self.well.results if id(each) not in done]
        self.full, self.crash = set(), None
        self.station = self.begin()

    def restart(self) -> None:
        """Stopped in order, and begun anew."""
        self.station.close()
        self.station = self.begin()

    # ---- what is true -----------------------------------------------------------------------------------------------------

    def logged(self) -> list[tuple[int, int, float]]:
        """The rows of the log."""
        return [row for frame in LogDirectory(self.folder).log("river").scan() for row in frame.rows()]

    def ledger(self) -> StreamLedger:
        """The books that stand in the log."""
        return ledger_of(LogDirectory(self.folder).log("river"))

    def check_books(self) -> None:
        """Now, in memory: and what was acknowledged is in the log or refused."""
        status = self.station.manager.status("river")
        assert status.ledger.balanced, status.ledger
        for live in self.station.queries.values():
            assert live.ledger.balanced, (live.name, live.ledger)

    def check(self) -> None:
        """In the log, at rest: each reading once, nothing acknowledged lost, the queries' answers those of the reference."""
        rows = self.logged()
        assert max(Counter(row[:2] for row in rows).values(), default=1) == 1
        held = set(rows)
        ledger = self.ledger()
        assert ledger.balanced, ledger
        assert ledger.appended == len(rows), ledger
        refused = set(LogDirectory(self.folder).log("river").letters()["payload"].to_list())
        for result in self.well.acknowledged:
            for time, sensor, depth in result.rows.rows():
                early = f'{{"time":{time},"id":{sensor},"depth":{depth}}}'.encode()
                assert (time, sensor, depth) in held or early in refused or time is None
            assert {letter.payload for letter in result.garbled} <= refused
        database = self.database()
        for books in [*stream_books(database), *query_books(database)]:
            assert books["balanced"], books

    def check_answers(self) -> None:
        """The queries have answered for all of the log, once."""
        database = self.database()
        for name, sql in QUERIES.items():
            given = [row for frame in result_log(self.folder, name).answers() for row in frame.rows()]
            difference = same_answer(database.sql(sql).run("reference", finished=False).rows, given)
            assert difference is None, f"{name}: {difference}"
        assert not LogDirectory(self.folder).log("river").verify().damages
