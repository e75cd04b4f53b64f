"""Clients come, go, are cut off, create, replace, pause and drop at random, and one owner follows another, killed or
closed. No query can tell which others run: every query's rows are the reference's over the logs from its position on."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as a_field
from pathlib import Path
from typing import Any

import pytest

from live.owner.judge import Judge
from live.owner.owners import client_of
from live.owner.weather import FAMILIES, STATES, STREAMS, Weather, field
from nilometer.engine import Database, connect
from nilometer.errors import ConfigurationError
from nilometer.live.owner.changes import take_up
from nilometer.live.owner.client import Asking, Client
from nilometer.live.owner.control_log import ControlLog
from nilometer.live.owner.owner import Owner
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogDirectory, Offset
from nilometer.plan.reference import same_answer

ALL = tuple(text for family in FAMILIES for text in family)
ACTS = (
    *("come", "come", "cut", "go", "fetch", "blow", "blow", "blow"),
    *("create", "create", "replace", "replace", "pause", "resume", "drop", "read"),
)
READS = {
    0: "SELECT time, id, x FROM {} WHERE x > 1",
    3: "SELECT COUNT(*) AS many, MAX(n) AS most FROM {} [RANGE 4 MINUTES SLIDE 4 MINUTES]",
}
"""Queries over the answers of another, by its family: all texts of these families answer the same columns."""


@dataclass
class Person:
    """One client with one query, and the rows that have come."""

    client: Client
    asking: Asking
    rows: list[tuple[Any, ...]] = a_field(default_factory=list)

    def fetch(self, wait: float) -> None:
        rows, _ = self.asking.fetch(self.client, wait)
        self.rows += [] if rows is None else rows.rows()


@contextmanager
def life(folder: Path, *, killed: bool, settings: StationSettings | None = None) -> Iterator[Owner]:
    """One owner, from its start to its end or to its death."""
    database = connect(folder)
    owner = Owner(folder, lambda: Station(database, folder, settings))
    stop = threading.Event()
    thread = threading.Thread(target=owner.run, args=(stop.is_set,), daemon=True)
    thread.start()

    def begin() -> None:
        assert database.keeping is not None
        database.keeping.refresh(owner=False)
        database.keeping = None
        roster = Roster(owner.station, database.catalog.queries())
        owner.changes = take_up(database, roster, lambda _: None)
        roster.begin(alone=False)

    try:
        owner.submit(begin)
        yield owner
    finally:
        stop.set()
        owner.station.manager.bell.set()
        thread.join(60)
        (owner.abandon if killed else owner.close)()


def rest(owner: Owner, weather: Weather) -> None:
    """Let everything be read: by the logs, by the streams of answers, and by all queries."""
    station = owner.station

    def at_rest() -> bool:
        while station.step():
            pass
        logs = station.logs
        if any(
            logs.log(name).end.position < len(weather.sent[name])
            for name in STREAMS
            if name in station.manager.streams
        ):
            return False
        return all(
            live.offsets[key] == logs.log(key).end
            for live in station.queries.values()
            if not live.full
            for key in live.offsets
        )

    while not owner.submit(at_rest):
        pass


def check(folder: Path, person: Person) -> None:
    """The rows of a client's query are the reference's, in its order, over the log from its position on."""
    judge, logs = Judge(folder), LogDirectory(folder)
    start = {key: Offset(*at) for key, at in person.asking.start.items()}
    wanted = judge.reference(person.asking.text, start, {key: logs.log(key).end for key in start})
    while len(person.rows) < len(wanted):
        person.fetch(1.0)
    assert same_answer(wanted, person.rows) is None, person.asking


class Storm:
    """The people, the standing queries as they were acknowledged, and the dice."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.dice = random.Random(seed)
        self.database: Database = field(folder)
        self.weather = Weather(folder, self.dice)
        self.people: list[Person] = []
        self.standing: dict[str, int] = {}
        """The family of each standing query."""
        self.readers: dict[str, str] = {}
        """The standing queries that read the answers of others, and whose."""
        self.refused = self.names = 0

    def act(self) -> None:
        """Do one thing at random."""
        dice, own = self.dice, sorted(self.standing)
        match dice.choice(ACTS):
            case "come" if len(self.people) < 6:
                person = Person(client_of(self.database), Asking(dice.choice(ALL)))
                person.asking.install(person.client)
                self.people.append(person)
            case "cut" if self.people:
                gone = self.people.pop(dice.randrange(len(self.people)))
                gone.client._socket.shutdown(socket.SHUT_RDWR)
                gone.client.close()
            case "go" if self.people:
                self.people.pop(dice.randrange(len(self.people))).client.close()
            case "fetch" if self.people:
                dice.choice(self.people).fetch(0.0)
            case "blow":
                self.weather.blow(dice.randrange(1, 6))
            case "create":
                # A name is used again after its query was dropped.
                name = dice.choice([f"q{n}" for n in range(self.names + 1) if f"q{n}" not in self.standing])
                self.names += name == f"q{self.names}"
                self.standing[name] = dice.randrange(len(FAMILIES))
                starting = dice.choice(("", "", "STARTING AT BEGINNING "))
                text = dice.choice(FAMILIES[self.standing[name]])
                self.database.execute(f"CREATE QUERY {name} {starting}AS {text}")
            case "replace" if own:
                name, state = dice.choice(own), dice.choice(STATES)
                text = dice.choice(FAMILIES[self.standing[name]])
                try:
                    self.database.execute(f"REPLACE QUERY {name} {state} AS {text}")
                except ConfigurationError as error:
                    if "another state" not in error.message:
                        raise
                    self.refused += 1
            case "read" if own:
                name = dice.choice(own)
                reads = READS.get(self.standing[name])
                reader = f"r{len(self.readers)}_{name}"
                if reads is not None and reader not in self.readers:
                    starting = dice.choice(("", "STARTING AT BEGINNING "))
                    self.database.execute(f"CREATE QUERY {reader} {starting}AS {reads.format(name)}")
                    self.readers[reader] = name
            case "pause" if own:
                self.database.execute(f"PAUSE QUERY {dice.choice(own)}")
            case "resume" if own:
                self.database.execute(f"RESUME QUERY {dice.choice(own)}")
            case "drop" if own:
                name = dice.choice(own)
                for reader in [one for one, read in self.readers.items() if read == name]:
                    self.database.execute(f"DROP QUERY {reader}")
                    del self.readers[reader]
                self.database.execute(f"DROP QUERY {name}")
                del self.standing[name]

    def live(self, turns: int) -> int:
        """The life of one owner. Returns how many queries were judged."""
        with life(self.folder, killed=self.dice.random() < 0.5) as owner:
            for person in self.people:
                person.client = client_of(self.database)
                person.asking.install(person.client)
            for _ in range(turns):
                self.act()
            if self.dice.random() < 0.5:
                self.weather.calm()
                rest(owner, self.weather)
                for person in self.people:
                    check(self.folder, person)
            for person in self.people:
                person.client.close()
        return len(self.people)

    def judge(self) -> Judge:
        """The last owner lets everything be read, and goes."""
        with life(self.folder, killed=False) as owner:
            for name in sorted(self.standing):
                self.database.execute(f"RESUME QUERY {name}")
            self.weather.calm()
            rest(owner, self.weather)
        judge = Judge(self.folder)
        declared = {name for kind, name in ControlLog(self.folder).declared if kind == "QUERY"}
        assert declared == {*self.standing, *self.readers}
        judge.queries(at_end=True)
        return judge


def storm(folder: Path, seed: int, owners: int, turns: int) -> None:
    this = Storm(folder, seed)
    for _ in range(owners):
        this.live(turns)
    assert this.judge().rows


@pytest.mark.parametrize("seed", [1])
def test_a_storm_of_clients(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, seed, 3, 16)


def test_a_dropped_reader_of_answers_has_no_say_in_the_log_of_their_successors(tmp_path: Path) -> None:
    """It once stood further in that log than the log now goes. Both owners have to know that it does not count."""
    database, weather = field(tmp_path), Weather(tmp_path, random.Random(4))
    for _ in range(2):
        with life(tmp_path, killed=False) as owner:
            for _ in range(2):
                database.execute(f"CREATE QUERY q STARTING AT BEGINNING AS {FAMILIES[0][0]}")
                database.execute(f"CREATE QUERY r STARTING AT BEGINNING AS {READS[0].format('q')}")
                weather.blow(3)
                weather.calm()
                rest(owner, weather)
                database.execute("DROP QUERY r")
                database.execute("DROP QUERY q")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_more_storms_of_clients(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, seed, 5, 60)
