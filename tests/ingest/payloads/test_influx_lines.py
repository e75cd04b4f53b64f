"""Influx's line protocol: a naive reader of one line at a time is the judge."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.ingest.payloads.influx_lines import read_influx

NAMES = ("time", "id", "x", "note")
TEXT = st.text("ab ,=\\\"'é", max_size=6)


def escaped(text: str, marks: str) -> str:
    return "".join(f"\\{c}" if c in marks else c for c in text)


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, tuple[object, ...]]:
    """A line, and the row that it means."""
    # A backslash in a tag escapes whatever follows it, so tags are written without.
    tag = draw(st.none() | TEXT.map(lambda t: t.replace("\\", "").replace('"', "").strip()).filter(bool))
    note = draw(st.none() | TEXT)
    x = draw(st.integers(-99, 99))
    stamp = draw(st.none() | st.integers(0, 2**62))
    fields = [f"x={x}i"] + ([] if note is None else [f'note="{escaped(note, chr(34) + chr(92))}"'])
    draw(st.randoms()).shuffle(fields)
    head = "air" + ("" if tag is None else f",id={escaped(tag, ' ,=')}")
    line = f"{head} {','.join(fields)}" + ("" if stamp is None else f" {stamp}")
    return line, (None if stamp is None else stamp // 1_000, tag, str(x), note)


@given(st.lists(lines(), max_size=5))
def test_lines_are_what_they_were_made_from(found: list[tuple[str, tuple[object, ...]]]) -> None:
    read = read_influx(pl.Series(["\n".join(line for line, _ in found)], dtype=pl.String), NAMES)
    assert read.columns.select(NAMES).rows() == [row for _, row in found]
    assert read.columns.get_column("@reason").null_count() == len(found)


@pytest.mark.parametrize(
    "line",
    ["", "air", "air x", "air x=", "air x=1,", "air x=1,,y=2", "air,id x=1", 'air x="1', "air x=1 soon"],
)
def test_what_is_no_line_has_a_reason(line: str) -> None:
    read = read_influx(pl.Series([line]), NAMES).columns
    assert read.height == bool(line)
    assert read.get_column("@reason").null_count() == 0
