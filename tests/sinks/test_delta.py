"""Delta tables, written and read by the real library: every row once, through crashes at every step."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from log.logs import CrashError, FailAt
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.sinks.sink import Origin
from nilometer.types import INT, STRING, Column, Schema
from sinks.results import ALL, Results, everything

deltalake = pytest.importorskip("deltalake")


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "query")


def table(tmp_path: Path) -> pl.DataFrame:
    found = pl.from_arrow(deltalake.DeltaTable(str(tmp_path / "out")).to_pyarrow_table())
    assert isinstance(found, pl.DataFrame)
    return found


def ids(tmp_path: Path) -> list[int]:
    return sorted(table(tmp_path)["id"].to_list())


def test_values_of_all_types(results: Results, tmp_path: Path) -> None:
    results.commit(everything(), ALL)
    results.deliver(f"delta:{tmp_path}/out")
    found = table(tmp_path)
    assert found.schema["time"] == pl.Datetime("us", "UTC")
    assert found["number"].to_list() == everything()["number"].to_list()
    assert found["at"].to_list() == everything()["at"].to_list()
    assert found["since"].to_list() == everything()["since"].to_list(), "whole microseconds"
    assert found["some words"].to_list() == everything()["some words"].to_list()
    assert found["seen"].list.len().to_list() == [2, 0, None, 1]


def test_it_goes_on_where_it_was(results: Results, tmp_path: Path) -> None:
    url = f"delta:{tmp_path}/out"
    results.answer(2, 0, 1)
    assert results.deliver(url).progress.rows == 3
    assert results.deliver(url).progress.rows == 0
    results.answer(0, 0)
    results.deliver(url)
    assert deltalake.DeltaTable(str(tmp_path / "out")).version() == 0, "nothing came, and nothing was written"
    results.answer(4)
    assert results.deliver(url).progress.rows == 4
    assert ids(tmp_path) == list(range(7))


@pytest.mark.parametrize("step", ["before_append", "after_append"])
@pytest.mark.parametrize("number", [1, 2])
def test_broken_off(results: Results, tmp_path: Path, step: str, number: int) -> None:
    url = f"delta:{tmp_path}/out?rows=2"
    results.answer(2, 2, 2)
    with pytest.raises(CrashError):
        results.delivery(url, FailAt(CrashError, number, step)).step(all_of_it=True)
    results.deliver(url)
    assert ids(tmp_path) == list(range(6))


def test_two_queries_fill_one_table(results: Results, tmp_path: Path) -> None:
    url = f"delta:{tmp_path}/out"
    results.answer(1, 1)
    results.deliver(url)
    delivery = results.delivery(url, origin=Origin("other", "1a2b3c4d"))
    delivery.step(all_of_it=True)
    assert delivery.error is None
    results.deliver(url)
    assert ids(tmp_path) == [0, 0, 1, 1]


def test_it_begins_with_the_first_answer(results: Results, tmp_path: Path) -> None:
    results.answer(0)
    results.deliver(f"delta:{tmp_path}/out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(ConfigurationError, match="takes all answers"):
        results.deliver(f"delta:{tmp_path}/out?start=now")


def test_another_version_brings_a_column(results: Results, tmp_path: Path) -> None:
    url = f"delta:{tmp_path}/out"
    results.answer(1)
    schema = Schema((Column("id", INT), Column("site", STRING)))
    results.commit(pl.DataFrame({"id": [7], "site": ["north"]}), schema, "v2", log=2)
    results.deliver(url)
    assert table(tmp_path).select("id", "site").sort("id").rows() == [(0, None), (7, "north")]


def test_a_place_that_cannot_be_written(results: Results, tmp_path: Path) -> None:
    results.answer(1)
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceError, match="cannot be written"):
        results.deliver(f"delta:{tmp_path}/file/out")
