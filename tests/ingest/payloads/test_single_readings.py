"""Each garbled reading of a message is a dead letter of its own, which can be mended and sent again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.payloads import Decoded, Decoder, Format, Messages, decoder
from nilometer.ingest.payloads.single_readings import singles
from nilometer.types import FLOAT, SECOND, STRING, Column

AIR = Stream("air", stream_columns((Column("pm25", FLOAT), Column("note", STRING))))
NOW = 1_700_000_000 * SECOND


def decode(text: str, kind: Format) -> Decoded:
    return Decoder(AIR).decode(Messages([text.encode()], [NOW], ["x"]), kind)


MIXED = {
    Format.JSON: '[{"time": 1, "id": 1, "pm25": 1}, {"time":2, "id": 1, "pm25": "a\\u0062", "more": [1]},'
    '\n{"time": 3, "id": 1, "pm25": "c"}, 7]',
    Format.CSV: "time,id,pm25\n1,1,1\n2,1,ab\n\n3,1,c\n4",
    Format.INFLUX: "# a comment\nair,id=1 pm25=1 1000\nair,id=1 pm25=ab 2000\nair,id=1 pm25=c 3000\nnothing",
    Format.SENML: '[{"bn": "1:", "bt": 1.7e9, "n": "pm25", "v": 1}, {"n": "pm25", "t": 1, "v": "ab"},'
    ' {"n": "pm25", "t": 2, "v": "c"}, {"n": "pm25", "t": 3}]',
}


@pytest.mark.parametrize("kind", list(MIXED))
def test_each_garbled_reading_has_its_own_letter(kind: Format) -> None:
    decoded = decode(MIXED[kind], kind)
    assert decoded.rows.height == 1
    letters = decoded.garbled
    assert [letter.count for letter in letters] == [1, 1, 1]
    assert "'ab'" in letters[0].reason
    assert "'c'" in letters[1].reason
    assert len({letter.reason for letter in letters}) == 3
    # Sent again alone, each is the same garbled reading; mended, it is a row.
    for letter in letters:
        form = Format.JSON if kind is Format.SENML else kind
        again = decode(letter.payload.decode(), form)
        assert again.received == 1
    mended = letters[1].payload.replace(b'"c"', b"3").replace(b",c", b",3").replace(b"=c", b"=3")
    rows = decode(mended.decode(), Format.JSON if kind is Format.SENML else kind).rows
    assert rows.select("id", "pm25").rows() == [(1, 3.0)]
    if kind is Format.SENML:
        assert rows["time"].to_list() == [NOW + 2 * SECOND]


def test_items_are_as_they_were_written() -> None:
    assert decode(MIXED[Format.JSON], Format.JSON).garbled[0].payload == (
        b'{"time":2, "id": 1, "pm25": "a\\u0062", "more": [1]}'
    )


def test_beyond_a_number_the_rest_of_a_message_shares_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "LETTERS", 2)
    decoded = decode(MIXED[Format.JSON], Format.JSON)
    assert [letter.count for letter in decoded.garbled] == [1, 1, 1]
    assert decoded.garbled[2].payload == MIXED[Format.JSON].encode()
    decoded = Decoder(AIR).decode(
        Messages([b'[{"pm25": "a"}, {"pm25": "b"}, {"pm25": "c"}, {"pm25": "d"}]'] * 2, [NOW] * 2, ["x"] * 2)
    )
    assert [(letter.message, letter.count) for letter in decoded.garbled] == [(0, 1), (0, 1), (0, 2), (1, 4)]
    assert decoded.received == 8


@given(st.lists(st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=4)))
def test_an_array_is_cut_at_its_items(items: list[object]) -> None:
    text = json.dumps(items, indent=1)
    assert singles(text, "json", len(items)) == [
        json.dumps(item, indent=1).replace("\n", "\n ") for item in items
    ]


def test_no_array_has_no_parts() -> None:
    assert singles("[[[", "json", 2) is None
    assert singles("[" * 100_000 + "]" * 100_000, "json", 1) is None
    assert singles('[{"x": 1}', "json", 2) is None
