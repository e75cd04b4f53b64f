"""docs/messages.md: every message becomes the rows that the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from nilometer.catalog.address import Address
from nilometer.engine.declare import stream_of
from nilometer.ingest.payloads import Decoder, Messages, TopicPattern
from nilometer.language import ast, parse_script
from nilometer.types import SECOND, Kind, format_time

PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
BLOCKS = re.findall(r"^```(sql|text)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
EXAMPLES = [tuple(text for _, text in BLOCKS[start : start + 3]) for start in range(0, len(BLOCKS), 3)]
ARRIVED = 1_800_000_000 * SECOND


def test_an_example_is_a_declaration_messages_and_rows() -> None:
    assert [kind for kind, _ in BLOCKS] == ["sql", "text", "text"] * len(EXAMPLES)


def shown(rows: pl.DataFrame, times: set[str]) -> list[list[str]]:
    def text(name: str, value: object) -> str:
        if value is None:
            return "NULL"
        if name in times:
            assert isinstance(value, int)
            return format_time(value) if value < ARRIVED else "arrival"
        return f"{value:g}" if isinstance(value, float) else str(value)

    return [[text(name, value) for name, value in row.items()] for row in rows.iter_rows(named=True)]


@pytest.mark.parametrize(("declaration", "messages", "expected"), EXAMPLES)
@pytest.mark.parametrize("together", [True, False])
def test_messages_become_the_rows_of_the_page(
    declaration: str, messages: str, expected: str, together: bool
) -> None:
    (statement,) = parse_script(declaration)
    assert isinstance(statement, ast.CreateStream)
    stream = stream_of(statement, declaration)
    assert stream.url is not None
    decoder = Decoder(stream, topic=TopicPattern.parse(Address.parse(stream.url).path))
    lines = [line.split(" ", 1) for line in messages.splitlines()]
    batches = [lines] if together else [[line] for line in lines]
    times = {column.name for column in stream.columns if column.type.kind is Kind.TIME}
    rows: list[list[str]] = []
    garbled: list[str] = []
    for batch in batches:
        decoded = decoder.decode(
            Messages(
                [payload.encode() for _, payload in batch], [ARRIVED] * len(batch), [t for t, _ in batch]
            )
        )
        rows += shown(decoded.rows, times)
        garbled += [f"garbled: {letter.reason}" for letter in decoded.garbled]
    names = [column.name for column in stream.columns]
    widths = [max(len(name), *(len(row[place]) for row in rows)) for place, name in enumerate(names)]
    table = [names, ["-" * width for width in widths], *rows]
    printed = ["  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in table]
    assert [*printed, *garbled] == expected.splitlines()
