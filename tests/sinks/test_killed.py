"""kill -9 at every step towards every sink: nothing is lost, and nothing doubled (over MQTT: by the ids)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mosquitto_server
from log.logs import CrashError, FailAt, scratch
from sinks.results import Results
from sinks.test_mqtt import Ear

pytestmark = pytest.mark.slow

KILLED = -9
TESTS = Path(__file__).parents[1]


class Deliverers:
    """Processes that deliver, one at a time."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
        self._process = subprocess.Popen(
            [sys.executable, str(TESTS / "sinks" / "kill_me.py")],
            env=os.environ | {"PYTHONPATH": path, "POLARS_MAX_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def deliver(self, results: Results, url: str, failpoint: str = "-") -> int:
        """How it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{results.folder} {url} {failpoint}\n")
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def deliverers() -> Iterator[Deliverers]:
    with closing(Deliverers()) as found:
        yield found


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as name:
        yield Path(name)


def steps(results: Results, url: str) -> list[str]:
    """Every step on the way to a sink: `after_write:2` is the second of its name."""
    passed: list[str] = []
    delivery = results.delivery(url, passed.append)
    delivery.step(all_of_it=True)
    delivery.close()
    assert delivery.error is None
    return [f"{name}:{n}" for name, count in Counter(passed).items() for n in range(1, count + 1)]


def kill_at_every_step(
    folder: Path, deliverers: Deliverers, url: Callable[[str], str], least: int
) -> list[str]:
    """Gives the names of the places, each of which must hold the rows 0 to 7 once."""
    results = Results(folder / "query")
    results.answer(1, 2, 0, 1)
    plans = steps(results, url("first"))
    assert len(plans) >= least, plans
    names = []
    for number, plan in enumerate(plans):
        names.append(f"n{number}")
        mine = Results(folder / names[-1])
        shutil.copytree(results.folder, mine.folder)
        mine.number, mine.rows = results.number, results.rows
        assert deliverers.deliver(mine, url(names[-1]), f"{plan}@sink") == KILLED, plan
        mine.answer(2)
        # Once more at the same step, if it comes there.
        assert deliverers.deliver(mine, url(names[-1]), f"{plan}@sink") in (KILLED, 0), plan
        mine.answer(2)
        assert deliverers.deliver(mine, url(names[-1])) == 0, plan
        if number % 5 == 0:  # what is delivered is not delivered again, whatever came before
            assert deliverers.deliver(mine, url(names[-1])) == 0, plan
    return names


def test_parquet(folder: Path, deliverers: Deliverers) -> None:
    names = kill_at_every_step(folder, deliverers, lambda name: f"parquet:{folder}/out/{name}?rows=2", 24)
    for name in names:
        there = sorted((folder / "out" / name).glob("version=*/*"))
        assert pl.concat([pl.read_parquet(path) for path in there])["id"].to_list() == list(range(8)), name
        assert [path.name for path in (folder / "out" / name / "_delivered").iterdir()] == ["mark.json"]


def test_json_lines(folder: Path, deliverers: Deliverers) -> None:
    names = kill_at_every_step(folder, deliverers, lambda name: f"jsonl:{folder}/out/{name}?rows=2", 24)
    for name in names:
        found = [json.loads(line)["id"] for line in (folder / "out" / name).read_text().splitlines()]
        assert found == list(range(8)), name


@pytest.mark.postgres
def test_postgresql(folder: Path, deliverers: Deliverers, postgres_url: str) -> None:
    server = postgres_url.replace("postgresql+psycopg", "postgresql")
    names = kill_at_every_step(folder, deliverers, lambda name: f"{server}?table={name}&rows=2", 8)
    with psycopg.connect(server, autocommit=True) as connection:
        for name in names:
            rows = connection.execute(f"SELECT id FROM {name} ORDER BY id").fetchall()
            assert rows == [(n,) for n in range(8)], name
        marks = connection.execute(
            "SELECT DISTINCT \"commit\", rows FROM nilometer_sinks WHERE sink <> 'first'"
        )
        assert marks.fetchall() == [(5, 8)]
        for name in ["first", *names, "nilometer_sinks"]:
            connection.execute(f"DROP TABLE {name}")


@pytest.mark.mosquitto
@pytest.mark.xdist_group("mosquitto")
@pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed")
def test_mqtt(folder: Path, deliverers: Deliverers) -> None:
    with mosquitto_server.running(mosquitto_server.WHEN_ASKED) as broker, closing(Ear(broker)) as ear:
        names = kill_at_every_step(folder, deliverers, lambda name: f"{broker.url}/{name}?rows=2", 16)
        again = 0
        heard = ear.until_silence()
        for name in names:
            rows = [row for topic, row in heard if topic == name]
            by_id = {row["delivery"]: row for row in rows}
            again += len(rows) - len(by_id)
            # The first time that each came: all, in order.
            assert [row["id"] for row in by_id.values()] == list(range(8)), name
            assert all(by_id[row["delivery"]] == row for row in rows)
            assert list(by_id) == [f"smoky@1a2b3c4d/{place}" for place in PLACES]
        assert again


PLACES = ("0/0", "1/0", "1/1", "3/0", "4/0", "4/1", "5/0", "5/1")


@given(
    counts=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=1, max_size=4),
    crashes=st.lists(st.integers(1, 45), max_size=5),
    form=st.sampled_from(["parquet:{}/out?rows=2", "jsonl:{}/out?rows=2"]),
)
def test_crashes_one_after_the_other(counts: list[list[int]], crashes: list[int], form: str) -> None:
    with scratch() as name:
        results = Results(Path(name) / "query")
        url, left = form.format(name), list(crashes)
        for some in counts:
            results.answer(*some)
            while True:
                delivery = results.delivery(url, FailAt(CrashError, left.pop()) if left else None)
                try:
                    delivery.step(all_of_it=True)
                    assert delivery.error is None
                    break
                except CrashError:
                    pass
                finally:
                    delivery.close()
        assert delivered(Path(name) / "out") == list(range(results.rows))


def delivered(place: Path) -> list[int]:
    if place.is_file():
        return [json.loads(line)["id"] for line in place.read_text().splitlines()]
    there = sorted(place.glob("version=*/*"))
    return [value for path in there for value in pl.read_parquet(path)["id"].to_list()]
