"""Stock Spark and Nilometer on Spark are asked the same: on the same micro-batches they must say the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nilometer.engine import connect
from nilometer.laboratory.benchmarks.spark.answers import before, difference
from nilometer.laboratory.benchmarks.spark.comparison import OURS, Bench, prepare, refusal_of, sides_of
from nilometer.laboratory.benchmarks.spark.report import STOCK
from nilometer.laboratory.benchmarks.spark.workloads import JOINS, WORKLOADS, Workload, named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS, SENSORS, BATCH = 4_000, 20, 1_500


def bench(spark: SparkSession, place: Path) -> Bench:
    return Bench(spark, place, ROWS, SENSORS, BATCH, 1, lambda line: None)


@pytest.mark.parametrize(
    "workload",
    [*WORKLOADS, *(pytest.param(workload, marks=pytest.mark.long) for workload in JOINS)],
    ids=lambda workload: workload.name,
)
def test_equal(workload: Workload, spark: SparkSession, tmp_path: Path) -> None:
    here = bench(spark, tmp_path)
    prepared = prepare(here, workload, BATCH, SENSORS)
    answers = {name: side().answer for name, side in sides_of(here, workload, prepared, BATCH).items()}
    judge = connect(prepared.batches.place).sql(workload.question).run("gateway").given
    assert answers[OURS].height > 0
    assert STOCK in answers
    assert {name: difference(answers[OURS], answer) for name, answer in answers.items()} == dict.fromkeys(
        answers
    )
    assert difference(before(judge, prepared.sentinel), answers[OURS]) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [("asof", "ASOF join with a streaming"), ("rows", "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING")],
)
def test_refused(name: str, said: str, spark: SparkSession, tmp_path: Path) -> None:
    here = bench(spark, tmp_path)
    found = refusal_of(here, named(name), prepare(here, named(name), BATCH, SENSORS))
    assert found is not None
    assert said in found
