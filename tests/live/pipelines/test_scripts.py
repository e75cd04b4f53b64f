"""Query scripts in a pipeline without a JVM, whole and in three parts: the reference's answers.

Here every twelfth script; with `--all` all of them, and tests/spark/test_on_spark.py runs them in rounds of Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts import read_script
from spark.in_pipeline import InPipeline

QUERIES = Path(__file__).parents[2] / "queries"
EVERY = 12
MENDED = ("cast_beside_a_table.test",)
"""Those that pipelines once got wrong."""


def _scripts() -> list[Any]:
    rest = [pytest.mark.long]
    return [
        pytest.param(
            path,
            id=path.relative_to(QUERIES).as_posix(),
            marks=[] if number % EVERY == 0 or path.name in MENDED else rest,
        )
        for number, path in enumerate(sorted(QUERIES.rglob("*.test")))
    ]


@pytest.mark.parametrize("path", _scripts())
def test_a_script_in_a_pipeline(path: Path, tmp_path: Path) -> None:
    for parts in (1, 3):
        InPipeline(read_script(path), tmp_path, parts).run()
