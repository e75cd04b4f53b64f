"""Standing queries in a pipeline that join stored tables: the reference's answers over the versions on record, through
refreshes, restarts, kills at every step and replays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from live.pipelines.in_process import pump, without_spark
from live.test_refreshed_tables import BASE, DEEDS, PLAIN, QUERIES, RELAXED, Field, live_through, taken
from log.logs import scratch
from nilometer.live.pipelines.pipeline_tables import PipelineTables
from nilometer.live.pipelines.run_folders import FOLDER
from nilometer.live.starts import BEGINNING
from nilometer.live.upkeep import replay
from nilometer.types import HOUR, SECOND
from storm.table_judge import later_versions

BEGIN = PipelineTables.begin


class SparkField(Field):
    """The same field, with its query in a pipeline. `parts`: into how many parts the pipeline is divided."""

    host = "spark"

    def __init__(self, folder: Path, sql: str, parts: int = 1) -> None:
        (folder / "nilometer.toml").write_text(f"[spark]\nmax_rows = 3\nparts = {parts}\ntask_rows = 2\n")
        super().__init__(folder, sql)

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            super().step()
            pump()
            self.station.step()


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with without_spark(monkeypatch):
        yield


def test_a_version_holds_from_the_tick_after_those_answered(tmp_path: Path) -> None:
    field = SparkField(tmp_path, PLAIN)
    field.pour("a", [(1, 1, 10), (5, 1, 11)])
    field.step()
    assert taken(field.live) == [(10, "0"), (11, "0")]
    field.write("t", 5)
    field.clock.now += HOUR
    field.step(2)
    assert field.station.reports.metrics("q").tables_read == 1
    assert [version.holds_from - BASE for version in later_versions(field.database, tmp_path, "q")] == [
        5 * SECOND + 1
    ]
    # Of the readings that come now, two lie before what was answered: they meet what their neighbours met.
    field.pour("a", [(7, 1, 13), (5, 1, 14), (5, 1, 15), (8, 1, 16)])
    field.step(2)
    assert sorted(taken(field.live)) == [(13, "6"), (14, "0"), (15, "0"), (16, "6")]
    # Another run is given the version of the log.
    field.die()
    field.begin()
    field.pour("a", [(9, 1, 17)])
    field.step(2)
    assert taken(field.live) == [(17, "6")]
    field.station.close()
    field.judge()
    # So is a replay, though the table is another now.
    field.write("t", 9)
    replay(field.database, "q", BEGINNING)
    field.begin()
    field.step(2)
    assert sorted(taken(field.live))[:3] == [(10, "0"), (11, "0"), (13, "6")]
    field.station.close()


def test_what_was_read_before_anything_was_heard_holds_from_the_beginning(tmp_path: Path) -> None:
    field = SparkField(tmp_path, PLAIN)
    field.write("t", 5)
    field.clock.now += HOUR
    field.step(2)
    field.pour("a", [(1, 1, 10)])
    field.step()
    assert taken(field.live) == [(10, "6")]
    field.station.close()
    field.judge()


def test_versions_beyond_the_bound_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    field = SparkField(tmp_path, PLAIN)
    field.pour("a", [(1, 1, 10)])
    field.step()
    field.write("t", 5)
    field.clock.now += HOUR
    field.step(2)
    field.station.close()
    monkeypatch.setattr("nilometer.live.pipelines.pipeline_tables.VERSIONS_BYTES", 1)
    field.begin()
    field.step()
    assert "the recorded versions of the tables of 'q' have 0 MiB" in str(field.live.failure)
    field.station.close()


@pytest.mark.parametrize("parts", [1, 3])
def test_a_table_that_changes_again_and_again_takes_no_space(tmp_path: Path, parts: int) -> None:
    """What the pipeline has heard of is deleted, and a run that begins is given what its state has not met."""
    field = SparkField(tmp_path, PLAIN, parts)
    rows, sizes = 2_000, list[int]()
    for number in range(1, 31):
        lines = [f"{k},{number * 1_000_000 + k}" for k in range(1, rows + 1)]
        (tmp_path / "t.csv").write_text("\n".join(["k,label", *lines]) + "\n")
        field.clock.now += HOUR
        field.pour("a", [(5 * number, 1, number)])
        field.step(2)
        files = [path for path in (tmp_path / FOLDER).rglob("*") if path.is_file()]
        sizes.append(sum(path.stat().st_size for path in files))
    assert field.station.reports.metrics("q").tables_read >= 29
    assert max(sizes[15:]) <= 1.1 * max(sizes[:15]), sizes
    field.station.close()
    given: list[int] = []

    def begin(tables: PipelineTables, panes: Any) -> Any:
        first, later = BEGIN(tables, panes)
        given.append(len(later))
        return first, later

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PipelineTables, "begin", begin)
        field.begin()
        field.pour("a", [(200, 1, 31)])
        field.step(2)
    assert given[0] <= 1, "its state has met the others"
    field.station.close()
    field.judge()


@pytest.mark.slow
def test_every_tick_meets_one_version_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nilometer.live.pipelines.pipeline.CHECKPOINT_EVERY", 0)
    answered = met = crashes = 0

    @given(
        st.sampled_from(QUERIES),
        st.integers(0, 1 << 30),
        st.sampled_from((1, 1, 3)),
        st.lists(st.tuples(DEEDS, st.integers(1, 60)), min_size=8, max_size=24),
    )
    @RELAXED
    def check(sql: str, seed: int, parts: int, deeds: list[tuple[str, int]]) -> None:
        nonlocal answered, met, crashes
        note(sql)
        with scratch() as folder:
            field = SparkField(Path(folder), sql, parts)
            crashes += live_through(field, Random(seed), deeds)
            answered += field.answered
            met += field.versions_met

    check()
    # Or nothing has been tried.
    assert answered > 50
    assert met > 10
    assert crashes > 0
