"""Arrow bodies of strangers: small ones that stand for gigabytes are dead letters, and nothing is unpacked."""

from __future__ import annotations

import io
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from nilometer.catalog.extents import Stream
from nilometer.ingest.payloads import Decoded
from nilometer.ingest.payloads.arrow_bodies import MOST_ROWS, read_arrow
from nilometer.types import FLOAT, STRING, TIME, Column

AIR = Stream("air", (Column("time", TIME), Column("id", STRING), Column("x", FLOAT)))
NOTHING = pl.DataFrame(schema={"time": pl.Int64, "id": pl.String, "x": pl.Float64})


def written(columns: dict[str, Any], **options: Any) -> bytes:
    table, made = pa.table(columns), io.BytesIO()
    with pa.ipc.new_stream(made, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return made.getvalue()


def read(payload: bytes) -> Decoded:
    return read_arrow(payload, AIR, NOTHING, "http")


def test_rows_of_every_plain_form() -> None:
    for ids in (
        pa.array(["a", None]),
        pa.array(["a", None], pa.large_string()),
        pa.array(["a", None], pa.string_view()),
        pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), ["a"]),
    ):
        decoded = read(written({"time": [1767225600, 1767225601], "id": ids, "x": [0.5, 1.5]}))
        assert (decoded.rows.get_column("id").to_list(), decoded.garbled_count) == (["a", None], 0)
    made = io.BytesIO()
    pl.DataFrame({"time": [1767225600], "id": ["b"], "x": [2]}).write_ipc_stream(made)
    assert read(made.getvalue()).rows.height == 1


ZEROS = pa.array([0], pa.int64()).take(pa.array([0] * 100_000, pa.int32()))


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (written({"time": ZEROS}, compression="zstd"), "a compressed Arrow stream"),
        (written({"time": ZEROS}, compression="lz4"), "a compressed Arrow stream"),
        (
            written({"time": pa.nulls(300_000_000), "x": pa.nulls(300_000_000)}),
            "the Arrow type null of 'time'",
        ),
        (
            written({"time": pa.RunEndEncodedArray.from_arrays([60_000_000], [1767225600])}),
            "the Arrow type run_end_encoded",
        ),
        (
            written({"time": pa.array([False]).take(pa.array([0] * (MOST_ROWS + 1), pa.int32()))}),
            "2,000,000 rows",
        ),
        (
            written(
                {
                    "time": pa.array([0] * 10_000),
                    "id": pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int8()), ["x" * 10_000]),
                }
            ),
            "the texts of an Arrow stream have 95 MiB",
        ),
        (written({"time": pa.array([{}], pa.struct([]))}), "the Arrow type struct<>"),
        (b"\xff\xff\xff\xff\x10\0\0\0" + bytes(500), "this is no Arrow IPC stream"),
        (b"ARROW1", "this is no Arrow IPC stream"),
        (b"", ""),
    ],
)
def test_a_body_that_is_larger_than_it_looks_is_a_dead_letter(payload: bytes, why: str) -> None:
    decoded = read(payload)
    assert decoded.rows.height == 0
    assert why in decoded.garbled[0].reason
