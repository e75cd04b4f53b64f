"""What `bench spark` is made of, without Spark: the data's laws, equal micro-batches, comparison, latency, the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from nilometer.errors import ConfigurationError
from nilometer.laboratory.benchmarks.spark import Options, Report, data, table
from nilometer.laboratory.benchmarks.spark.answers import before, difference
from nilometer.laboratory.benchmarks.spark.bench import whole_run_targets
from nilometer.laboratory.benchmarks.spark.latency import percentiles
from nilometer.laboratory.benchmarks.spark.live_writer import APPENDED, write_live
from nilometer.laboratory.benchmarks.spark.micro_batches import schema, write
from nilometer.laboratory.benchmarks.spark.plots import plot
from nilometer.laboratory.benchmarks.spark.report import STOCK, Comparison, Floor, Latency, StateSize, Target
from nilometer.laboratory.benchmarks.spark.state_size import targets
from nilometer.laboratory.benchmarks.spark.workloads import named
from nilometer.log import LogDirectory


def test_no_reading_is_late_and_the_first_is_the_earliest() -> None:
    times = data.readings(5_000, 50)["time"].to_numpy()
    behind = np.maximum.accumulate(times) - times
    assert times[0] == times.min()
    assert 0 < behind.max() < data.DELAY
    assert times[-1] - times[-2] > data.AFTER - data.DELAY


def test_sensors_read_at_one_hertz_in_whole_milliseconds() -> None:
    frame = data.readings(5_001, 50)[:-1]
    assert frame.group_by("id").len()["len"].to_list() == [100] * 50
    assert frame["time"].n_unique() == 5_000
    assert (frame["time"] % 1000).sum() == 0


def test_the_same_seed_gives_the_same_readings() -> None:
    assert data.readings(1_000, 10).equals(data.readings(1_000, 10))
    assert not data.readings(1_000, 10, seed=8).equals(data.readings(1_000, 10))


def test_sentinels_of_a_pair_do_not_match() -> None:
    found = data.keyed(1_000, 10)
    assert found["a"]["id"][-1] != found["b"]["id"][-1]


def test_files_and_log_have_the_same_micro_batches(tmp_path: Path) -> None:
    frame = data.readings(1_000, 10)
    written = write({"readings": frame}, 300, tmp_path)
    files = sorted(written.files("readings").iterdir())
    log = LogDirectory(tmp_path).existing("readings")
    modified = [file.stat().st_mtime for file in files]
    rows = [pl.read_parquet(file).with_columns(pl.col("time").dt.epoch("us")) for file in files]
    assert (written.count, written.total) == (4, 1_000)
    assert [each.height for each in rows] == [300, 300, 300, 100]
    assert modified == sorted(set(modified))
    assert pl.concat(log.scan()).select(frame.columns).equals(frame)
    assert pl.concat(rows).equals(frame)


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ({"id": [1, 2], "mean": [0.5, 0.25]}, None),
        ({"id": [2, 1], "mean": [0.25 + 1e-12, 0.5]}, None),
        ({"id": [1], "mean": [0.5]}, "2 and 1 rows"),
        ({"id": [1, 3], "mean": [0.5, 0.25]}, "id: different values"),
        ({"id": [1, 2], "mean": [0.5, 0.26]}, "mean: different beyond 1e-09"),
        ({"id": [1, 2], "mean": [0.5, None]}, "mean: NULL in different rows"),
        ({"id": [1, 2], "median": [0.5, 0.25]}, "columns ['id', 'mean'] and ['id', 'median']"),
    ],
)
def test_difference(theirs: dict[str, list[float]], said: str | None) -> None:
    assert difference(pl.DataFrame({"id": [1, 2], "mean": [0.5, 0.25]}), pl.DataFrame(theirs)) == said


def test_rows_of_the_sentinel_are_left_out() -> None:
    assert before(pl.DataFrame({"tick": [1, 2, 3]}), 3)["tick"].to_list() == [1, 2]
    assert before(pl.DataFrame({"time": [1, 2, 3]}), 2)["time"].to_list() == [1]


def test_a_window_is_settled_by_the_first_reading_beyond_its_end() -> None:
    appended = np.array([[10_000, 11_000], [20_000, 21_000], [30_000, 31_000]])
    # The window that ends at 20,000 us is settled at 31,000, as is one that ends in between; that at 30,000 never.
    committed = [(41_000, pl.Series([20_000, 20_000, 25_000, 30_000]))]
    assert percentiles(appended, committed, windows=True, warming=0) == (10.0, 10.0)


def test_the_live_writer_says_what_it_appended_when(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(schema({"readings": data.readings(10, 1)}, delay=0))
    write_live(tmp_path, "log", 100, 0.2, 5)
    write_live(tmp_path, "files", 100, 0.2, 5)
    rows = pl.concat(LogDirectory(tmp_path).existing("readings").scan())
    files = [pl.read_parquet(file) for file in (tmp_path / "files" / "readings").iterdir()]
    assert rows.height == 20
    assert sum(frame.height for frame in files) == 20
    assert (tmp_path / APPENDED).read_text().count("[") == 3


def report() -> Report:
    hop = Comparison(
        "hop60x5",
        "hop 60 s / 5 s",
        250_000,
        1_000_000,
        211_000,
        (2.0, 1.0, 3.0),
        {STOCK: (9.0,)},
        sensors=1_000,
        milliseconds={"ours": (100.0, 200.0, 300.0), STOCK: (500.0,)},
    )
    rows = Comparison(
        "rows",
        "row window of 100",
        250_000,
        1_000_000,
        5,
        (2.0,),
        {STOCK: (9.0,)},
        {STOCK: "5 and 4 rows"},
        "NO",
    )
    return Report(
        "a setting",
        (hop, rows),
        (hop,),
        (hop,),
        (Floor(2, (300.0, 100.0, 200.0), ()),),
        (
            Latency("filter", 1_000, (100.0, 200.0), None),
            Latency("filter", 10_000, (110.0, 210.0), (1.0, 2.0)),
        ),
        (StateSize("hop", (1.0, 2.0), (3.0, 4.0), (1.5, 1.5), 24),),
        targets=(Target("hop, times", 4.5, 3.0), Target("floor, ms", 400.0, 300.0, at_most=True)),
    )


def test_table() -> None:
    text = table(report())
    assert "hop 60 s / 5 s               2.00      9.00    4.5    500,000    211,000  equal" in text
    assert "hop 60 s / 5 s                200       500    2.5" in text
    assert "DIFFERENT: Spark: 5 and 4 rows" in text
    assert "row window of 100: stock Spark refuses the plain form (NO)" in text
    assert "2 stateful stages                              200         -          -" in text
    assert "met    hop, times: 4.50 (at least 3)" in text
    assert "MISSED floor, ms: 400.00 (at most 300)" in text
    assert "state of hop over 24 simulated hours" in text
    grown = StateSize("hop", (1.0, 2.0, 2.0, 2.0), (), (1.0, 1.0, 1.0, 3.0), 24)
    assert [target.met for target in targets((grown,))] == [True, False]


def test_targets_of_whole_runs() -> None:
    peers = {STOCK: (9.0,), "Flink": (6.0, 8.0), "Flink, its job": (1.0,)}
    hop = replace(report().comparisons[0], peers=peers)
    found = {target.claim: target for target in whole_run_targets([named("hop60x5")], [hop])}
    assert [(claim.rpartition(" ")[2], each.measured, each.met) for claim, each in found.items()] == [
        ("Flink", 3.5, False),
        ("Spark", 4.5, True),
    ]


def test_pictures(tmp_path: Path) -> None:
    found = plot(report(), tmp_path)
    assert [path.name for path in found] == [
        "spark_batches_hop60x5.svg", "spark_fleet.svg", "spark_latency.svg", "spark_state.svg",
    ]  # fmt: skip
    assert all(path.stat().st_size for path in found)


def test_a_part_that_there_is_not() -> None:
    with pytest.raises(ConfigurationError, match="no part of bench spark 'hop60x2'"):
        Options(only=("hop60x2",))
