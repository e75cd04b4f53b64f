"""Payloads of summary topics: each is one row or one garbled reading."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nilometer.algebra.summary import FROM, OF, READINGS
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.payloads.summaries import read_summaries
from nilometer.types import FLOAT, INT, STRING, Column

STREAM = Stream("air", stream_columns((Column("pm25", FLOAT), Column("n", INT), Column("name", STRING))))
SOUND: dict[str, Any] = {
    "from": "2026-01-01T00:00:00Z",
    "time": "2026-01-01T00:10:00Z",
    "of": "a",
    "count": 3,
    "columns": {"pm25": {"count": 2, "sum": 5, "min": 1.5, "max": 3.5}, "N": {"count": 3, "sum": 7.0}},
}


def test_a_summary_is_a_row() -> None:
    rows, garbled = read_summaries([(json.dumps(SOUND).encode(), "7", "air/7/summary")], STREAM)
    assert not garbled
    row = rows.row(0, named=True)
    assert (row["id"], row["time"] - row[FROM], row[OF], row[READINGS]) == (7, 600_000_000, "a", 3)
    assert [row[f"pm25#{part}"] for part in ("count", "sum", "low", "min", "max")] == [2, 5.0, 0.0, 1.5, 3.5]
    assert [row[f"n#{part}"] for part in ("count", "sum", "min")] == [3, 7, None]


@pytest.mark.parametrize(
    "change",
    [
        {"count": 0},
        {"count": 1.5},
        {"count": True},
        {"count": 2**63 - 1},
        {"count": 600_000_001},
        {"count": float("nan")},
        {"columns": {"pm25": {"count": 2, "sum": float("nan")}}},
        {"columns": {"pm25": {"count": 2, "max": float("inf")}}},
        {"columns": {"pm25": {"count": float("nan")}}},
        {"from": "2026-01-01T00:10:00Z"},
        {"time": "soon"},
        {"of": None, "time": None},
        {"columns": {"pm10": {"count": 1}}},
        {"columns": {"name": {"count": 1}}},
        {"columns": {"id": {"count": 1}}},
        {"columns": {"pm25": {"count": 4}}},
        {"columns": {"pm25": {"count": 1, "sum": "much"}}},
        {"columns": {"pm25": {"sum": 1.0}}},
        {"columns": {"n": {"count": 1, "sum": 1.5}}},
        {"columns": {"n": {"count": 1, "sum": 2**63}}},
        {"columns": [1]},
    ],
)
def test_a_summary_that_cannot_be_read_is_garbled(change: dict[str, Any]) -> None:
    payload = json.dumps(SOUND | change).encode()
    rows, garbled = read_summaries([(payload, "7", "air/7/summary")], STREAM)
    assert rows.height == 0
    assert [(letter.payload, letter.source) for letter in garbled] == [(payload, "air/7/summary")]


@pytest.mark.promise("odd-inputs")
def test_nobody_sends_summaries_in_the_name_of_another_sensor() -> None:
    payload = json.dumps(SOUND | {"id": 9}).encode()
    rows, _ = read_summaries([(payload, "7", "air/7/summary"), (payload, None, "air/summary")], STREAM)
    assert rows.get_column("id").to_list() == [7, 9]
    odd = json.dumps(SOUND | {"id": "seven"}).encode()
    assert len(read_summaries([(odd, None, "air/summary")], STREAM)[1]) == 1


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"3", b"\xff", b'{"from": 1}'])
def test_what_is_no_summary_is_garbled(payload: bytes) -> None:
    rows, garbled = read_summaries([(payload, "7", "air/7/summary")], STREAM)
    assert rows.height == 0
    assert len(garbled) == 1
