"""Answers of a round come out of their packed form as they went in, whatever their types; shared frames stay shared."""

from __future__ import annotations

import pickle
from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from polars.testing import assert_frame_equal
from polars.testing.parametric import dataframes

from nilometer.dataflow.part import Part, Rows, frame_of
from nilometer.spark.shared.packed_results import packed_answers, unpacked_answers

COLUMNS = {
    "tick": pl.Series([1, None], dtype=pl.Datetime("us", "UTC")),
    "span": pl.Series([timedelta(seconds=1), None], dtype=pl.Duration("us")),
    "name": ["north", None],
    "ok": [True, None],
    "place": [{"x": 1.0, "y": -0.0}, None],
    "list": [["a", None], None],
    "vector": pl.Series([[1.0, 2.0], None], dtype=pl.Array(pl.Float64, 2)),
    "nothing": pl.Series([None, None], dtype=pl.Null),
}


def passed_on(answers: dict[str, list[Rows]]) -> dict[str, list[Rows]]:
    found: dict[str, list[Rows]] = unpacked_answers(pickle.loads(pickle.dumps(packed_answers(answers))))
    return found


@pytest.mark.parametrize("height", [0, 1, 2, 4_000])
def test_every_type(height: int) -> None:
    frame = pl.concat([pl.DataFrame(COLUMNS)] * (height // 2 + 1))[:height]
    (found,) = passed_on({"q": [frame]})["q"]
    assert_frame_equal(frame_of(found), frame)


@given(
    frame=dataframes(
        min_cols=1, max_cols=3, max_size=5, allowed_dtypes=[pl.Int64, pl.Float64, pl.String, pl.Boolean]
    )
)
@settings(deadline=None)
def test_any_frame(frame: pl.DataFrame) -> None:
    (found,) = passed_on({"q": [frame]})["q"]
    assert_frame_equal(frame_of(found), frame)


def test_shared_frames_stay_shared() -> None:
    shared, own = pl.DataFrame({"x": list(range(10))}), pl.DataFrame({"x": [7]})
    given: dict[str, list[Rows]] = {
        "one": [Part(shared, 0, 4)],
        "other": [Part(shared, 4, 6)],
        "both": [Part(shared, 1, 2), own, Part(own, 0, 1)],
        "whole": [own],
    }
    found = passed_on(given)
    assert {name: [frame_of(rows)["x"].to_list() for rows in parts] for name, parts in found.items()} == {
        "one": [[0, 1, 2, 3]],
        "other": [[4, 5, 6, 7, 8, 9]],
        "both": [[1, 2], [7], [7]],
        "whole": [[7]],
    }
    parts = [rows for name in ("one", "other", "both") for rows in found[name] if isinstance(rows, Part)]
    assert len({id(part.frame) for part in parts[:3]}) == 1
    assert found["whole"][0] is found["both"][1]
