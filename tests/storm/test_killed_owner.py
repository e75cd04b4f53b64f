"""The owner, its clients, or both are killed at random moments while standing queries come, change and go: nothing that
was acknowledged is lost, nothing is doubled, and every query is where the control log says."""

from __future__ import annotations

import json
import queue
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from live.owner import weather
from live.owner.judge import Judge, records_of
from live.owner.test_storm import life, rest
from live.owner.weather import STREAMS, Weather
from nilometer.language import ast, parse, print_statement
from nilometer.live.owner.control_log import Record
from nilometer.log import LogDirectory, Offset
from storm.lives import ENVIRONMENT, TESTS, listen
from storm.publishers import PATIENCE

READ = (
    "SELECT time, id, x FROM air WHERE x > 5",
    "SELECT COUNT(*) AS n, MAX(x) AS top FROM wind [RANGE 6 MINUTES SLIDE 3 MINUTES]",
)
FAILPOINTS = ("after_write", "before_fsync", "after_fsync", "before_rename", "after_rename", "before_aside")
PLACES = ("results", "state", "log")


class Crowd:
    """Gives birth to an owner and clients by forking, as many at a time as a test likes."""

    def __init__(self) -> None:
        command = [sys.executable, str(TESTS / "storm" / "crowd.py")]
        self._process = subprocess.Popen(
            command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._ear = threading.Thread(target=listen, args=(self._process.stdout, self._lines.put), daemon=True)
        self._ear.start()
        self._heard: list[str] = []
        self.alive: set[int] = set()
        assert self._lines.get(timeout=PATIENCE) == "ready"

    def bear(self, role: str, *arguments: object) -> int:
        """A child; returns its process."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([role, *map(str, arguments)]) + "\n")
        while not (line := self._lines.get(timeout=PATIENCE)).startswith("born "):
            self._heard.append(line)
        self.alive.add(child := int(line.split()[1]))
        return child

    def hear(self) -> tuple[str, int, Any]:
        """The next thing that somebody says, or that somebody has died."""
        line = self._heard.pop(0) if self._heard else self._lines.get(timeout=PATIENCE)
        word, pid, rest_of_it = line.split(" ", 2)
        if word == "died":
            self.alive.discard(int(pid))
        return word, int(pid), json.loads(rest_of_it)

    def kill(self, child: int) -> None:
        """With SIGKILL, whatever it is doing. Its parent does it: only the parent knows whether the number is still its."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(["kill", str(child)]) + "\n")

    def close(self) -> None:
        """Nobody is left."""
        for child in self.alive:
            self.kill(child)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._ear.join(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    found = Crowd()
    yield found
    found.close()


@dataclass
class Asked:
    """A change that a client has asked for. `outcome`: asks (it may have taken effect), told or refused."""

    statement: str
    outcome: str = "asks"
    told: str = ""

    def fits(self, record: Record) -> bool:
        """Whether this is its record."""
        statement = parse(self.statement)
        match statement:
            case ast.CreateQuery():
                return record.what == "CREATE" and record.text == print_statement(statement)
            case ast.Replace(created=created, state=state):
                # One that is not there is created.
                same = record.text == print_statement(created) and record.state in (state or "", "")
                return record.what in ("CREATE", "REPLACE") and same
            case ast.Pause() | ast.Resume() | ast.Drop():
                return record.what == type(statement).__name__.upper()
        return False


def explained(asked: list[Asked], records: list[Record]) -> bool:
    """Whether the records of a name are those that its clients were told of, in order, and no others."""
    possible = {0}
    for one in asked:
        silent = one.outcome != "told" or "is unchanged" in one.told or "there is no" in one.told
        spoken = one.outcome != "refused" and "is unchanged" not in one.told
        after = {at + 1 for at in possible if spoken and at < len(records) and one.fits(records[at])}
        possible = after | (possible if silent else set())
    return len(records) in possible


@dataclass
class Director:
    """Who lives, who is killed, and what everybody was told."""

    folder: Path
    crowd: Crowd
    dice: random.Random
    names: list[list[str]]
    turns: int
    owner: int | None = None
    busy: dict[int, int] = field(default_factory=dict)
    """The clients that change queries, and which names they have."""
    readers: dict[int, int] = field(default_factory=dict)
    asked: dict[str, list[Asked]] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)
    files: int = 0

    def serve(self) -> None:
        """An owner, which may have its death before it."""
        failpoint = "-"
        if self.dice.random() < 0.3:
            where = f"{self.dice.choice(FAILPOINTS)}:{self.dice.randrange(1, 60)}"
            failpoint = f"{where}@{self.dice.choice(PLACES)}"
        self.owner = self.crowd.bear("serve", self.folder, failpoint)

    def come(self) -> None:
        """Clients in place of those that are gone."""
        for mine in range(len(self.names)):
            if mine not in self.busy.values():
                seed = self.dice.randrange(1 << 30)
                child = self.crowd.bear("change", self.folder, seed, self.turns, *self.names[mine])
                self.busy[child] = mine
        while len(self.readers) < len(READ):
            which = next(n for n in range(len(READ)) if n not in self.readers.values())
            self.files += 1
            file = self.folder / f"read-{which}-{self.files}"
            self.readers[self.crowd.bear("read", self.folder, READ[which], file)] = which

    def hear(self) -> None:
        """Take note of one thing that was said."""
        word, pid, said = self.crowd.hear()
        if word == "said" and said[0] != "read":
            outcome, name, statement, *told = said
            own = self.asked.setdefault(name, [])
            if outcome == "asks":
                own.append(Asked(statement))
            elif outcome != "unknown":
                own[-1].outcome, own[-1].told = outcome, told[0]
        if word == "died":
            assert said in (0, -signal.SIGKILL), (self.folder / "serve.out").read_text()[-2000:]
            self.busy.pop(pid, None)
            self.readers.pop(pid, None)
            if pid == self.owner:
                self.owner = None

    def strike(self) -> None:
        """Kill the owner, a client, or both."""
        victims = self.dice.choice(("owner", "client", "both", "reader"))
        if victims in ("owner", "both") and self.owner is not None:
            self.crowd.kill(self.owner)
        for many in (self.busy, self.readers):
            if many and victims in (("client", "both") if many is self.busy else ("reader",)):
                self.crowd.kill(self.dice.choice(sorted(many)))
        self.killed[victims] += 1

    def end(self) -> None:
        """Everybody is killed."""
        for child in list(self.crowd.alive):
            self.crowd.kill(child)
        while self.crowd.alive:
            self.hear()


def check_rows_read(folder: Path, judge: Judge) -> int:
    """Each reader has the first rows of the reference's answer from the beginning on, each once."""
    checked = 0
    for which, text in enumerate(READ):
        stream = "air" if "air" in text else "wind"
        ends = {stream: LogDirectory(folder).log(stream).end}
        wanted = [_plain(row) for row in judge.reference(text, {stream: Offset()}, ends)]
        if "[" not in text:
            # Without a window, rows come as they are logged.
            logged = [(row["time"], row["id"]) for _, _, row in judge.logged(stream) if isinstance(row, dict)]
            wanted.sort(key=lambda row: logged.index(row[:2]))
        for file in folder.glob(f"read-{which}-*"):
            # A row that was torn by the reader's death was not read.
            lines = file.read_text().splitlines(keepends=True)
            rows = [json.loads(line) for line in lines if line.endswith("\n")]
            assert [_plain(row) for row in rows] == wanted[: len(rows)], file
            checked += len(rows)
    return checked


def _plain(row: Any) -> tuple[Any, ...]:
    """Times as microseconds."""
    return tuple(
        round(datetime.fromisoformat(value).timestamp() * 1_000_000) if isinstance(value, str) else value
        for value in row
    )


def killing(
    folder: Path, crowd: Crowd, seed: int, clients: int, queries: int, strikes: int
) -> dict[str, Any]:
    """The story, and its judgment. Returns what happened."""
    dice = random.Random(seed)
    weather.field(folder)
    wind = Weather(folder, dice)
    names = [[f"q{client}_{n}" for n in range(queries // clients)] for client in range(clients)]
    director = Director(folder, crowd, dice, names, turns=queries // clients * 2)
    wind.blow(5)
    director.serve()
    most = 0
    for _ in range(strikes):
        director.come()
        for _ in range(dice.randrange(5, 10 * clients)):
            director.hear()
            if dice.random() < 0.1:
                wind.blow(dice.randrange(1, 4))
            if director.owner is None and dice.random() < 0.3:
                director.serve()
            director.come()
        director.strike()
        most = max(most, len({name for name, asked in director.asked.items() if asked}))
    director.end()
    records = records_of(folder)
    for name, asked in director.asked.items():
        own = [record for record in records if record.key == ("QUERY", name)]
        assert explained(asked, own), (name, asked, [(r.what, r.text) for r in own])
    with life(folder, killed=False) as owner:
        station = owner.station
        for stream in STREAMS:  # one that no query reads is not taken in
            query = station.database.sql(f"SELECT id FROM {stream}")
            owner.submit(lambda query=query: station.install(query))
        wind.calm()
        rest(owner, wind)
    for stream in STREAMS:
        found = [
            (row["id"], row["time"]) for _, _, row in Judge(folder).logged(stream) if isinstance(row, dict)
        ]
        assert len(found) == len(set(found)), f"{stream} has doubles"
        assert set(found) == wind.sent[stream], f"{stream} has lost readings"
    judge = Judge(folder)
    standing = judge.queries(at_end=True)
    read = check_rows_read(folder, judge)
    return {
        "killed": dict(director.killed),
        "records": len(records),
        "standing": standing,
        "rows": judge.rows,
        "read": read,
    }


@pytest.mark.promise("killed-processes")
def test_owner_and_clients_are_killed(folder: Path, crowd: Crowd) -> None:
    found = killing(folder, crowd, seed=1, clients=2, queries=8, strikes=4)
    assert found["rows"]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_owner_and_clients_are_killed_with_two_hundred_queries(folder: Path, crowd: Crowd, seed: int) -> None:
    found = killing(folder, crowd, seed, clients=8, queries=200, strikes=25)
    print(found)
    assert found["rows"]
