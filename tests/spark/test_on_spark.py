"""Query scripts, the papers' queries and random queries on a real Spark, in one session: answers equal to the reference's.

Here every eighth script, three queries of each paper and twenty random queries, for each costs Spark seconds; with `--all` all of
them, and more random ones. What is left out has passed through the same readers and processors without a JVM (test_processors.py).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings

from nilometer.engine import Answer
from nilometer.errors import BindError, DataError
from nilometer.plan.reference import same_answer
from papers import test_dhtjoin, test_fjords, test_snee, test_steam
from papers.running import Printed
from papers.test_dhtjoin import database as dhtjoin  # noqa: F401 - fixtures
from papers.test_fjords import database as fjords  # noqa: F401
from papers.test_snee import database as snee  # noqa: F401
from papers.test_steam import database as steam  # noqa: F401
from properties.analytic_queries import analytic_cases
from properties.newer_queries import newer_cases
from properties.random_queries import Case, cases
from properties.test_group_windows import group_window_cases
from properties.test_hosts_agree import database_with, table_file  # noqa: F401 - a fixture
from scripts import Run, read_script
from spark.in_pipeline import InPipeline, rows_in_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark")]

QUERIES = Path(__file__).parent.parent / "queries"
EVERY = 8
"""Of so many scripts one is run in CI."""
PAPERS = {"dhtjoin": test_dhtjoin, "fjords": test_fjords, "snee": test_snee, "steam": test_steam}
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


def _scripts() -> list[Any]:
    found = sorted(QUERIES.rglob("*.test"))
    rest = [pytest.mark.long]
    return [
        pytest.param(path, id=path.relative_to(QUERIES).as_posix(), marks=rest if number % EVERY else [])
        for number, path in enumerate(found)
    ]


@pytest.mark.parametrize("path", _scripts())
def test_script(path: Path, tmp_path: Path) -> None:
    Run(read_script(path), "spark", tmp_path).run()


def _printed() -> list[Any]:
    rest = [pytest.mark.long]
    return [
        pytest.param(paper, printed, id=f"{paper}: {printed}", marks=rest if number >= 3 else [])
        for paper, module in PAPERS.items()
        for number, printed in enumerate(module.PRINTED)
    ]


@pytest.mark.parametrize(("paper", "printed"), _printed())
def test_printed_query(paper: str, printed: Printed, request: pytest.FixtureRequest) -> None:
    query = request.getfixturevalue(paper).sql(printed.text, **printed.parameters)
    expected = query.run("reference")
    found = query.run("spark")
    assert found.columns == expected.columns
    assert same_answer(expected.rows, found.rows) is None


@given(case=cases() | group_window_cases() | analytic_cases() | newer_cases())
@settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    max_examples=100 if LONG else 8,
    # A smaller example would be looked for at seconds each.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    print_blob=True,
)
def test_random_queries(table_file: str, case: Case) -> None:  # noqa: F811
    note(case.sql)
    try:
        query = database_with(case, table_file).sql(case.sql)
    except BindError:  # the log is empty, so its stream is not at hand; or an aggregate is of the wrong type
        return
    try:
        expected = query.run("reference")
    except DataError:
        with pytest.raises(DataError):
            query.run("spark")
        return
    found = query.run("spark", batch_rows=7)
    difference = same_answer(expected.rows, found.rows)
    assert difference is None, f"{difference}\n{query.explain('physical')}\n{query.explain('spark')}"


@pytest.mark.long
@pytest.mark.parametrize("path", [parameter.values[0] for parameter in _scripts()], ids=str)
def test_script_in_a_pipeline(path: Path, spark: SparkSession, tmp_path: Path) -> None:
    """In rounds of Spark, in two parts, all of them in tasks. Without a JVM: tests/live/pipelines/test_scripts.py."""
    InPipeline(read_script(path), tmp_path, 2, spark).run()


@pytest.mark.long
@pytest.mark.parametrize(("paper", "printed"), _printed())
def test_printed_query_in_a_pipeline(
    paper: str, printed: Printed, spark: SparkSession, request: pytest.FixtureRequest
) -> None:
    query = request.getfixturevalue(paper).sql(printed.text, **printed.parameters)
    found = rows_in_pipeline(query, 2, spark)
    if found is not None:
        expected = query.run("reference", finished=False)
        assert same_answer(expected.rows, Answer(query.schema, found).rows) is None
