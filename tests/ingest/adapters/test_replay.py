"""Replays and generators: order, pace by a clock turned by hand, dead letters, new files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.errors import ConfigurationError, DataError
from nilometer.ingest.adapters import Adapter, Command, ReadResult, Status, adapter_for
from nilometer.types import FLOAT, SECOND, Column

DEPTH = Stream("depth", stream_columns((Column("depth", FLOAT),)))


class Hand:
    """A clock turned by hand."""

    now = 5_000 * SECOND

    def __call__(self) -> int:
        return self.now


def drain(adapter: Adapter) -> list[ReadResult]:
    results = []
    while (result := adapter.read()).status is Status.NEW_VALUE:
        results.append(result)
    return results


def write(path: Path, times: range) -> None:
    path.write_text("time,id,depth\n" + "".join(f"{time},1,{time}.5\n" for time in times))


def test_a_file_as_fast_as_possible(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", range(25))
    with adapter_for(DEPTH, Hand(), url=f"file://{tmp_path}/a.csv?batch=10") as source:
        results = drain(source)
        assert source.read().status is Status.END
    assert [result.rows.height for result in results] == [10, 10, 5]
    assert [result.sequence for result in results] == [0, 10, 20]
    assert [result.arrived for result in results] == [None] * 3
    assert pl.concat([result.rows for result in results])["time"].to_list() == list(range(25))


def test_at_twice_real_time(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", range(100 * SECOND, 110 * SECOND, SECOND))
    clock = Hand()
    source = adapter_for(DEPTH, clock, url=f"{tmp_path}/a.csv?speed=2")
    source.open()
    assert source.read().rows["time"].to_list() == [100 * SECOND]
    assert source.read().status is Status.NO_VALUE
    assert source.due == clock.now + SECOND // 2
    clock.now += 2 * SECOND
    assert source.read().rows["depth"].len() == 4
    clock.now += 100 * SECOND
    assert source.read().rows["depth"].len() == 5
    assert source.read().status is Status.END
    source.close()


def test_a_directory_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "2.csv", range(10, 12))
    (tmp_path / "1.jsonl").write_text(
        '{"time": 1, "id": 1, "depth": 3}\nbroken\n{"time": "x", "id": 1}\n{"time": 2, "id": 1, "depth": 4}\n'
    )
    (tmp_path / "3.parquet").write_bytes(b"no parquet")
    (tmp_path / "notes.txt").write_text("not data")
    with adapter_for(DEPTH, Hand(), url=f"directory://{tmp_path}") as source:
        results = drain(source)
    assert [row[0] for result in results for row in result.rows.rows()] == [1, 2, 10, 11]
    letters = [letter for result in results for letter in result.garbled]
    assert [letter.payload for letter in letters] == [b"broken", b'{"time": "x", "id": 1}', b""]
    assert letters[0].source.endswith("1.jsonl:2")
    assert [(result.part, result.sequence, result.received) for result in results] == [
        ("1.jsonl/garbled", 0, 2),
        ("1.jsonl", 0, 2),
        ("2.csv", 0, 2),
        ("3.parquet/unreadable", 0, 1),
    ]


def test_a_followed_directory(tmp_path: Path) -> None:
    with adapter_for(DEPTH, Hand(), url=f"{tmp_path}?follow=1") as source:
        assert source.read().status is Status.NO_VALUE
        write(tmp_path / "1.csv", range(2))
        assert source.read().rows.height == 2
        assert source.read().status is Status.NO_VALUE
        write(tmp_path / "2.csv", range(3))
        assert source.read().rows.height == 3


class TwoSensors:
    """A field of two sensors, of which one obeys."""

    def __init__(self) -> None:
        self.asleep = False

    def frames(self) -> Iterator[pl.DataFrame]:
        for time in range(3):
            ids = [2] if self.asleep else [1, 2]
            yield pl.DataFrame({"time": [time] * len(ids), "id": ids, "depth": [1.0] * len(ids)})

    def command(self, sensor: int | str, command: Command) -> bool:
        self.asleep = bool(command.sleep)
        return sensor == 1


def test_a_generator_obeys() -> None:
    given: list[dict[str, str]] = []
    fields = {"pair": lambda options: (given.append(dict(options)), TwoSensors())[1]}
    source = adapter_for(DEPTH, Hand(), url="generate://pair?seed=7&batch=5", generators=fields)
    with source:
        assert source.read().rows["id"].to_list() == [1, 2]
        assert source.command(1, Command(sleep=True))
        assert [result.rows["id"].to_list() for result in drain(source)] == [[2], [2]]
        assert source.read().status is Status.END
    assert given == [{"seed": "7"}]


def test_addresses_that_cannot_be(tmp_path: Path) -> None:
    for url in [
        "ftp://x",
        "generate://plume",
        "mqtt://h/a?receives=5",
        "tcp://h:x",
        "mqtt://h",
        "f.csv?speed=fast",
        None,
    ]:
        with pytest.raises(ConfigurationError):
            adapter_for(DEPTH, Hand(), url=url)
    with pytest.raises(DataError):
        adapter_for(DEPTH, Hand(), url=str(tmp_path / "missing.csv")).open()


def three_files(folder: Path) -> None:
    write(folder / "a.csv", range(5))
    (folder / "b.csv").write_text("time,id,depth\nx,1,2\n5,1,5.5\n6,1,6.5\n")
    write(folder / "c.csv", range(7, 11))


def times_of(results: list[ReadResult]) -> list[int]:
    return [time for result in results for time in result.rows["time"].to_list()]


@pytest.mark.parametrize("reads", range(14))
@pytest.mark.parametrize("batch", [1, 4, 100])
def test_resumed_anywhere_it_goes_on_there_however_it_is_cut(tmp_path: Path, reads: int, batch: int) -> None:
    three_files(tmp_path)
    dealt_with: dict[str, int] = {}
    with adapter_for(DEPTH, Hand(), url=f"{tmp_path}?batch={batch}") as source:
        before = [source.read() for _ in range(reads)]
    for result in before:
        if result.sequence is not None:
            dealt_with[result.part] = result.sequence + result.received
    with adapter_for(DEPTH, Hand(), url=f"{tmp_path}?batch=3") as source:
        source.resume(dealt_with)
        results = drain(source)
    assert times_of(before) + times_of(results) == list(range(11))
    assert sum(result.garbled_count for result in before + results) == 1
    if results:
        assert results[0].sequence == dealt_with.get(results[0].part, 0)
        assert results[0].kept is None


@pytest.mark.parametrize("skipped", [1, 2, 3, 5, 6, 7, 11, 12, 99])
@pytest.mark.parametrize("batch", [1, 4, 100])
def test_an_old_count_over_all_files_is_laid_on_the_files(tmp_path: Path, skipped: int, batch: int) -> None:
    three_files(tmp_path)
    with adapter_for(DEPTH, Hand(), url=f"{tmp_path}?batch={batch}&follow=1") as source:
        source.resume({"": skipped})
        results = drain(source)
        write(tmp_path / "d.csv", range(11, 13))
        results += drain(source)
    # The garbled line came first in its file.
    order: list[int | None] = [*range(5), None, *range(5, 11)]
    assert times_of(results) == [time for time in order[skipped:] if time is not None] + [11, 12]
    assert sum(result.garbled_count for result in results) == (skipped <= 5)
    kept = results[0].kept
    assert kept is not None
    assert sum(kept.values()) == min(skipped, 12)
    assert "" not in kept
    assert [result.kept for result in results[1:]] == [None] * (len(results) - 1)


def test_files_come_and_go_in_any_order(tmp_path: Path) -> None:
    write(tmp_path / "b.csv", range(3))
    source = adapter_for(DEPTH, Hand(), url=f"{tmp_path}?follow=1")
    with source:
        assert times_of(drain(source)) == [0, 1, 2]
        # An earlier name, while it is open; and one that goes and comes again is another file.
        write(tmp_path / "a.csv", range(10, 12))
        (tmp_path / "b.csv").unlink()
        (result,) = drain(source)
        assert (result.part, result.sequence, result.kept) == ("a.csv", 0, {})
        write(tmp_path / "b.csv", range(20, 24))
        (result,) = drain(source)
        assert (result.part, result.sequence, times_of([result])) == ("b.csv", 0, [20, 21, 22, 23])
    dealt_with = {"a.csv": 2, "b.csv": 4, "old.csv": 9}
    write(tmp_path / "0.csv", range(30, 32))
    (tmp_path / "a.csv").unlink()
    with source:
        source.resume(dealt_with)
        (result,) = drain(source)
        assert (result.part, result.sequence, result.kept) == ("0.csv", 0, {"b.csv": 4})


def test_what_was_added_to_a_file_is_read_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path, range(3))
    (tmp_path / "b.csv").write_text("not,these\n1,2\n")
    for url in (f"{tmp_path}?follow=1", f"file://{path}"):
        with adapter_for(DEPTH, Hand(), url=url) as source:
            source.resume({"a.csv": 3, "b.csv/unreadable": 1})
            assert drain(source) == []
    with path.open("a") as file:
        file.write("broken,1,2\n3,1,1\n4,1,1\n")
    write(tmp_path / "b.csv", range(10, 12))
    with adapter_for(DEPTH, Hand(), url=f"{tmp_path}") as source:
        source.resume({"a.csv": 3, "b.csv/unreadable": 1})
        results = drain(source)
    assert times_of(results) == [3, 4, 10, 11]
    assert [letter.payload for result in results for letter in result.garbled] == [b"broken,1,2"]
    # Another file of the same name.
    write(path, range(50, 52))
    with adapter_for(DEPTH, Hand(), url=f"file://{path}") as source:
        source.resume({"a.csv": 5, "a.csv/garbled": 1})
        (result,) = drain(source)
    assert (result.sequence, result.kept, times_of([result])) == (0, {}, [50, 51])
