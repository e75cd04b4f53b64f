"""Parquet and JSON lines: what is in the files is what was answered."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest
from pyarrow import dataset

from log.logs import no_space
from nilometer.errors import ConfigurationError, DataError
from nilometer.sinks.delivery import GROUP_COMMITS
from nilometer.sinks.sink import Origin
from nilometer.sinks.values import outward
from nilometer.types import FLOAT, INT, Column, Schema
from sinks.results import ALL, NOON, PLAIN, Results, everything, plain


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "query")


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def parquet(folder: Path) -> pl.DataFrame:
    files = sorted(folder.glob("version=*/*.parquet"), key=lambda path: path.name)
    return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in files])


# ---- Parquet -----------------------------------------------------------------------------------------------------------


def test_parquet_holds_all_that_a_column_can(results: Results, tmp_path: Path) -> None:
    results.commit(everything(), ALL)
    results.deliver(f"parquet:{tmp_path}/out")
    found = parquet(tmp_path / "out")
    assert found.equals(outward(everything(), ALL))
    assert found.schema["time"] == pl.Datetime("us", "UTC")
    assert found.schema["match"] == pl.Struct(
        {
            "id": pl.Int64,
            "seen": pl.Datetime("us", "UTC"),
            "at": pl.Struct({"x": pl.Float64, "y": pl.Float64}),
            "words": pl.List(pl.String),
        }
    )


def test_parquet_is_read_by_others(results: Results, tmp_path: Path) -> None:
    results.answer(3, 0, 4)
    results.deliver(f"parquet:{tmp_path}/out?rows=3")
    names = sorted(path.name for path in (tmp_path / "out").glob("version=v1/*"))
    assert names == ["000000000000-000000000000.parquet", "000000000001-000000000002.parquet"]
    sql = f"SELECT sum(id), max(epoch_us(time)), any_value(version) FROM '{tmp_path}/out/*/*.parquet'"
    assert duckdb.sql(sql).fetchall() == [(21, NOON + 6, "v1")]
    assert pl.scan_parquet(f"{tmp_path}/out/*/*.parquet").collect().height == 7
    assert dataset.dataset(tmp_path / "out", partitioning="hive").count_rows() == 7


def test_parquet_gathers_commits_for_a_while(results: Results, tmp_path: Path) -> None:
    now = [0.0]
    delivery = results.delivery(f"parquet:{tmp_path}/out?every=1m", clock=lambda: now[0])
    for _ in range(5):
        results.answer(2, 0)
        assert not delivery.step()
        now[0] += 14.0
    assert delivery.step()
    assert [path.name for path in (tmp_path / "out").glob("version=*/*")] == [
        "000000000000-000000000009.parquet"
    ]
    results.answer(1)
    assert not delivery.step()
    assert delivery.step(all_of_it=True)
    delivery.close()
    assert parquet(tmp_path / "out").equals(outward(plain(0, 11), PLAIN))


def test_another_version_has_a_folder_of_its_own(results: Results, tmp_path: Path) -> None:
    other = Schema((Column("id", FLOAT), Column("mean", FLOAT)))
    results.answer(2, 1)
    results.commit(pl.DataFrame({"id": [0.5], "mean": [1.0]}), other, "v2", log=2)
    delivery = results.deliver(f"parquet:{tmp_path}/out")
    assert delivery.progress.rows == 4
    first = pl.read_parquet(tmp_path / "out" / "version=v1", hive_partitioning=False)
    second = pl.read_parquet(tmp_path / "out" / "version=v2", hive_partitioning=False)
    assert first.equals(outward(plain(0, 3), PLAIN))
    assert second.to_dicts() == [{"id": 0.5, "mean": 1.0}]


def test_files_that_were_taken_away_do_not_come_again(results: Results, tmp_path: Path) -> None:
    results.answer(2)
    results.deliver(f"parquet:{tmp_path}/out")
    for path in (tmp_path / "out").glob("*/*.parquet"):
        path.unlink()
    results.answer(3)
    results.deliver(f"parquet:{tmp_path}/out")
    assert parquet(tmp_path / "out")["id"].to_list() == [2, 3, 4]
    (tmp_path / "out" / "_delivered" / "mark.json").unlink()
    results.answer(1)
    results.deliver(f"parquet:{tmp_path}/out")
    assert parquet(tmp_path / "out")["id"].to_list() == [2, 3, 4, 5]


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("other", [Origin("other", "1a2b3c4d"), Origin("smoky", "00000000")])
def test_a_place_belongs_to_one_query(results: Results, tmp_path: Path, other: Origin, marked: bool) -> None:
    results.answer(2)
    for url in [f"parquet:{tmp_path}/out", f"jsonl:{tmp_path}/out.jsonl"]:
        results.deliver(url)
        if url.startswith("parquet") and not marked:
            (tmp_path / "out" / "_delivered" / "mark.json").unlink()
        delivery = results.delivery(url, origin=other)
        assert not delivery.step(all_of_it=True)
        assert isinstance(delivery.error, ConfigurationError)
        assert delivery.ended
        assert "smoky@1a2b3c4d" in str(delivery.progress.trouble)


# ---- JSON lines --------------------------------------------------------------------------------------------------------


def test_json_lines_hold_all_that_a_column_can(results: Results, tmp_path: Path) -> None:
    results.commit(everything(), ALL)
    results.deliver(f"jsonl:{tmp_path}/out.jsonl")
    found = lines(tmp_path / "out.jsonl")
    assert found == results.as_json()
    assert found[0] == {
        "time": "2026-03-01T12:00:00Z",
        "number": 9223372036854775807,
        "x": 1.5,
        "some words": 'it\'s "so"',
        "wet": True,
        "at": [1.0, 2.5],
        "since": "90 SECONDS",
        "seen": ["2026-03-01T12:00:00Z", None],
        "match": {
            "id": 7,
            "seen": "2026-03-01T12:00:00Z",
            "at": [1.5, -2.0],
            "words": ["a'b", None, "\u2028"],
        },
        "matches": [
            {"id": 7, "seen": "2026-03-01T12:00:00Z", "at": [1.5, -2.0], "words": ["a'b", None, "\u2028"]},
            {"id": None, "seen": None, "at": None, "words": None},
            None,
        ],
    }
    assert found[1]["x"] is None  # infinity
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8").count("\n") == 4
    assert set(found[2].values()) == {None}


def test_json_lines_go_on_and_take_other_columns(results: Results, tmp_path: Path) -> None:
    url = f"jsonl:{tmp_path}/deep/out.jsonl"
    results.answer(1, 0, 2)
    delivery = results.delivery(url)
    assert delivery.step()
    assert not delivery.step()
    results.commit(plain(3, 1).select("id"), Schema((Column("id", INT),)), "v2")
    assert delivery.step()
    delivery.close()
    assert results.deliver(url).progress.rows == 0
    found = lines(tmp_path / "deep" / "out.jsonl")
    assert [row["id"] for row in found] == [0, 1, 2, 3]
    assert found[-1] == {"id": 3}


def test_a_file_that_was_rotated_is_begun_anew(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    delivery = results.delivery(f"jsonl:{path}")
    results.answer(2)
    assert delivery.step()
    path.rename(tmp_path / "out.1")
    results.answer(1)
    assert delivery.step()
    assert [row["id"] for row in lines(path)] == [2]
    path.write_text("")  # copytruncate
    results.answer(2)
    assert delivery.step()
    assert [row["id"] for row in lines(path)] == [3, 4]
    delivery.close()
    path.rename(tmp_path / "out.2")
    results.answer(1)
    results.deliver(f"jsonl:{path}")
    assert [row["id"] for row in lines(path)] == [5]
    assert [row["id"] for row in lines(tmp_path / "out.1")] == [0, 1]


def test_a_file_that_is_not_ours_is_left_alone(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "precious.jsonl"
    path.write_text("mine\n")
    results.answer(2)
    with pytest.raises(ConfigurationError, match="not ours"):
        results.deliver(f"jsonl:{path}")
    assert path.read_text() == "mine\n"


def test_a_file_that_was_shortened_is_left_alone(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    results.answer(2)
    delivery = results.delivery(f"jsonl:{path}")
    delivery.step()
    path.write_text("{}\n")
    results.answer(1)
    assert not delivery.step()
    assert isinstance(delivery.error, DataError)
    assert path.read_text() == "{}\n"
    path.unlink()
    assert delivery.step(all_of_it=True)
    delivery.close()
    assert [row["id"] for row in lines(path)] == [2]


# ---- both --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "point"),
    [
        ("parquet:{}/out", "during_aside"),
        ("parquet:{}/out", "before_rename"),
        ("jsonl:{}/out", "during_aside"),
        ("jsonl:{}/out", "during_write"),
        ("jsonl:{}/out", "before_fsync"),
    ],
)
def test_a_full_disk_is_waited_for(results: Results, tmp_path: Path, form: str, point: str) -> None:
    now, full = [0.0], set[str]()

    def disk(name: str) -> None:
        if name in full:
            raise no_space()

    url = form.format(tmp_path)
    delivery = results.delivery(url, disk, clock=lambda: now[0])
    results.answer(2)
    assert delivery.step(all_of_it=True)
    full.add(point)
    for failures in range(1, 5):
        results.answer(1)
        now[0] += 100.0
        assert not delivery.step(all_of_it=failures == 1)
        assert delivery.progress.failures == failures
        assert "No space left" in str(delivery.progress.trouble)
        assert not delivery.step()
        assert delivery.progress.failures == failures  # not before its time
    full.clear()
    now[0] += 100.0
    delivery.step()
    assert delivery.progress.trouble is None
    delivery.close()
    assert ids(url, tmp_path / "out") == list(range(6))


def ids(url: str, path: Path) -> list[object]:
    return parquet(path)["id"].to_list() if url.startswith("parquet") else [row["id"] for row in lines(path)]


def test_commits_without_rows_move_the_place(results: Results, tmp_path: Path) -> None:
    results.answer(1, *[0] * 5)
    results.deliver(f"jsonl:{tmp_path}/out.jsonl")
    assert json.loads((tmp_path / "out.jsonl.delivered").read_text())["commit"] == 5
    results.deliver(f"parquet:{tmp_path}/out")
    assert len(list((tmp_path / "out").glob("version=*/*"))) == 1
    assert json.loads((tmp_path / "out" / "_delivered" / "mark.json").read_text())["commit"] == 5
    assert GROUP_COMMITS > 5


def test_a_query_that_was_begun_anew_is_noticed(results: Results, tmp_path: Path) -> None:
    results.answer(1, 1, 1)
    results.deliver(f"jsonl:{tmp_path}/out.jsonl")
    anew = Results(tmp_path / "anew")
    anew.answer(1)
    with pytest.raises(DataError, match="has commit 2"):
        anew.deliver(f"jsonl:{tmp_path}/out.jsonl")


@pytest.mark.parametrize("form", ["parquet:{}/out?start=now", "jsonl:{}/out?start=now"])
def test_from_now_on(results: Results, tmp_path: Path, form: str) -> None:
    url = form.format(tmp_path)
    results.answer(2, 1)
    results.deliver(url)
    results.answer(1)
    results.deliver(url)
    assert ids(url, tmp_path / "out") == [3]
    with pytest.raises(ConfigurationError, match="start=noon"):
        results.deliver(f"jsonl:{tmp_path}/other?start=noon")
    # Of a query that has not answered yet, all is from now on.
    later, place = Results(tmp_path / "later"), url.replace("/out", "/later-out")
    later.deliver(place)
    later.deliver(place)
    later.answer(2)
    later.deliver(place)
    assert ids(place, tmp_path / "later-out") == [0, 1]


def test_answers_keep_the_columns_that_they_were_given_in(results: Results, tmp_path: Path) -> None:
    results.answer(2)
    results.commit(
        pl.DataFrame({"id": [2], "depth": [1.5]}), Schema((Column("id", INT), Column("depth", FLOAT))), "v2"
    )
    results.commit(plain(3, 1), PLAIN, "v3")
    results.deliver(f"jsonl:{tmp_path}/out.jsonl")
    found = [list(row) for row in lines(tmp_path / "out.jsonl")]
    assert found == [["time", "id", "x"], ["time", "id", "x"], ["id", "depth"], ["time", "id", "x"]]
    results.deliver(f"parquet:{tmp_path}/out")
    columns = {
        path.name: pl.read_parquet(path, hive_partitioning=False).columns
        for path in (tmp_path / "out").glob("version=*")
    }
    assert columns == {
        "version=v1": ["time", "id", "x"],
        "version=v2": ["id", "depth"],
        "version=v3": ["time", "id", "x"],
    }
