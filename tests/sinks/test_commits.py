"""Reading on after any commit gives the rest, whatever the segments and logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from log.logs import scratch
from nilometer.sinks.commits import Commits
from nilometer.types import STRING, Column, Schema
from sinks.results import Results

WORDS = Schema((Column("id", STRING),))


@pytest.fixture
def results() -> Iterator[Results]:
    """Commits of several segments and three logs, of which one was begun and never used."""
    with scratch() as name:
        found = Results(Path(name))
        found.answer(2, 0, 30, 1, 1, 1, 0, 40, 2)
        (Path(name) / "results-2").mkdir()
        for word in "abcdefgh":
            found.commit(pl.DataFrame({"id": [word]}), WORDS, "v2", log=3)
        yield found


def rest(commits: Commits) -> list[int]:
    found = []
    while read := commits.read(7):
        found += [answered.number for answered, _ in read]
    return found


def test_after_any_commit(results: Results) -> None:
    commits = Commits(results.files)
    everything = rest(commits)
    assert everything == list(range(17))
    assert len(list((results.folder / "results").glob("*.segment"))) > 3
    for number in range(-1, 17):
        commits.seek_after(number)
        found = rest(commits)
        assert found == everything[len(everything) - len(found) :]
        assert set(range(number + 1, 17)) <= set(found)
    commits.seek_after(12)
    assert rest(commits)[0] > 8  # not far before it


def test_from_any_place(results: Results) -> None:
    commits = Commits(results.files)
    read = [(answered.number, place) for answered, place in commits.read(10_000)]
    while more := commits.read(10_000):
        read += [(answered.number, place) for answered, place in more]
    for number, place in read:
        commits.seek(place)
        assert rest(commits) == list(range(number + 1, 17))
    assert commits.end() == read[-1][1]
    assert commits.last() == 16


def test_from_any_row(results: Results) -> None:
    commits = Commits(results.files)
    for position in range(85):
        commits.seek_row(position)
        answered, _ = commits.read(1)[0]
        assert answered.position <= position
        commits.seek_row(position)
        rows = [
            id
            for answered, _ in _all(commits)
            for id in answered.rows["id"].to_list()[max(0, position - answered.position) :]
        ]
        assert rows == [*range(position, 77), *"abcdefgh"[max(0, position - 77) :]]


def _all(commits: Commits) -> Iterator[tuple[object, object]]:
    while read := commits.read(100):
        yield from read
