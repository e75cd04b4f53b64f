"""Clients come, go, are cut off, create and drop at random, and one owner follows another: the rows of every client's
query are the reference's over the log from its position on. Of standing queries only the number of rows is judged."""

from __future__ import annotations

import random
import socket
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from live.owner.owners import client_of, write
from live.owner.owners import field as a_field
from live.owner.test_changes import answered, serving
from nilometer.engine import connect
from nilometer.live.owner.client import Asking, Client
from nilometer.live.owner.control_log import ControlLog
from nilometer.log import LogDirectory, Offset

TEXTS = (
    "SELECT time, id, x FROM air",
    "SELECT time, id, x FROM air WHERE x > 5",
    "SELECT id, SUM(x) AS total FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id",
    "SELECT COUNT(*) AS n, MAX(x) AS top FROM air [RANGE 6 MINUTES SLIDE 3 MINUTES]",
    "SELECT a.time, a.x, b.x AS other FROM air [RANGE 2 MINUTES] a, air [RANGE 2 MINUTES] b WHERE a.id = b.id",
)


@dataclass
class Person:
    """One client with one query, and the rows that have come."""

    client: Client
    asking: Asking
    rows: list[tuple[object, ...]] = field(default_factory=list)


def expected(folder: Path, text: str, at: Offset) -> list[tuple[object, ...]]:
    """The reference's answer over the log from that position on, while the stream goes on."""
    alone = connect()
    alone.execute("CREATE STREAM air (x FLOAT) PUSHED KEY (id, time)")
    frames = list(LogDirectory(folder).log("air").scan(at.position))
    if frames:
        alone.append("air", pl.concat(frames).select("time", "id", "x"))
    return list(alone.sql(text).run("reference", finished=False).rows)


def storm(folder: Path, seed: int, turns: int) -> None:
    dice = random.Random(seed)
    database = a_field(folder)
    people: list[Person] = []
    standing: dict[str, str] = {}
    minute = checked = 0
    for _ in range(3):  # owners
        with serving(folder) as owner:
            for person in people:
                person.client = client_of(database)
                person.asking.install(person.client)
            for _ in range(turns):
                match dice.choice(
                    ("come", "come", "kill", "go", "write", "write", "create", "drop", "fetch")
                ):
                    case "come" if len(people) < 8:
                        person = Person(client_of(database), Asking(dice.choice(TEXTS)))
                        person.asking.install(person.client)
                        people.append(person)
                    case "kill" if people:
                        gone = people.pop(dice.randrange(len(people)))
                        gone.client._socket.shutdown(socket.SHUT_RDWR)
                        gone.client.close()
                    case "go" if people:
                        people.pop(dice.randrange(len(people))).client.close()
                    case "write":
                        count = dice.randrange(1, 6)
                        write(folder, minute, count)
                        minute += count
                    case "create":
                        name = f"q{len(standing)}"
                        standing[name] = dice.choice(TEXTS[:4])
                        database.execute(f"CREATE QUERY {name} AS {standing[name]}")
                    case "drop" if standing and dice.random() < 0.3:
                        name = dice.choice(sorted(standing))
                        if standing[name]:
                            database.execute(f"DROP QUERY {name}")
                            standing[name] = ""
                    case "fetch" if people:
                        person = dice.choice(people)
                        rows, _ = person.asking.fetch(person.client, 0.0)
                        person.rows += [] if rows is None else rows.rows()
            write(folder, minute, 4)
            minute += 4
            while owner.submit(lambda: owner.station.logs.log("air").end.position) < 2 * minute:
                owner.submit(owner.station.step)
            for person in people:
                wanted = expected(folder, person.asking.text, Offset(*person.asking.start["air"]))
                while len(person.rows) < len(wanted):
                    rows, _ = person.asking.fetch(person.client)
                    person.rows += [] if rows is None else rows.rows()
                assert person.rows == wanted, person.asking
                checked += 1
            for person in people:
                person.client.close()
    control = ControlLog(folder)
    assert {name for _, name in control.declared if name != "air"} == {
        n for n, text in standing.items() if text
    }
    for name, text in standing.items():
        if text:
            offset = control.declared["QUERY", name].offsets["air"]
            wanted = expected(folder, text, offset)
            got = [tuple(row.values()) for row in database.answers(name)]
            assert len(got) <= len(wanted)
            with serving(folder):
                got = [tuple(row.values()) for row in answered(database, name, len(wanted))] if wanted else []
            assert len(got) == len(wanted)
            checked += 1
            break
    assert checked


@pytest.mark.parametrize("seed", [1])
def test_a_storm_of_clients(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, seed, 14)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_more_storms_of_clients(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, seed, 40)
