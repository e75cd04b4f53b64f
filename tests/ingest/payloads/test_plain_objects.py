"""The short way for plain objects gives what the general way gives."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.payloads import Decoder, Format, Messages
from nilometer.types import BOOLEAN, FLOAT, INT, STRING, Column

AIR = Stream(
    "air",
    stream_columns((Column("x", FLOAT), Column("n", INT), Column("s", STRING), Column("on", BOOLEAN))),
    key=("id", "time"),
)
ONE = Stream("one", stream_columns((Column("x", FLOAT),)), key=("id", "time"))

# As text, for what json.dumps would not write.
_TIMES = st.sampled_from(
    [
        *("1772344800000000", "1772344800", "5", "17723448000000000000", "1772344800000000.5", "null", '""'),
        *('"2026-03-01T06:00:00Z"', '"2026-03-01T06:00:00.123456Z"', '"2026-03-01T06:00:00.1234567Z"'),
        *('"2026-03-01T06:00Z"', '"2026-03-01 06:00:00"', '"2026-03-01T07:00:00+01:00"', '"2026-03-01"'),
        *('"1969-03-01T06:00:00Z"', '"2026-02-30T06:00:00Z"', '"2026-03-01T24:00:00Z"', '"soon"'),
        *(
            '"2026-03-01T06:00:60Z"',
            '"9999-12-31T23:59:59Z"',
            '" 2026-03-01T06:00:00Z"',
            '"1772344800000000"',
        ),
    ]
)
_VALUES = st.one_of(
    st.sampled_from(
        [
            *("1", "-0", "1.0", "2.5", "1e3", "1e400", "1e-400", "NaN", "-Infinity", "9223372036854775807"),
            *("9223372036854775808", "-9223372036854775808", "123456789012345678901234567890", "01", "+1"),
            *(
                '"a"',
                '"1"',
                '""',
                '" x "',
                '"\\u00e9"',
                '"\\ud83d\\ude00"',
                '"\\ud800"',
                '"\\u0000"',
                '"}\\n{"',
            ),
            *("true", "false", "null", "[1]", '{"x": 1}', "{}", "0.1", "5e-324", "1.7976931348623157e308"),
        ]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.text(max_size=4).map(json.dumps),
)
_NAMES = st.sampled_from(["time", "id", "x", "n", "s", "on", "X", "other"])


@st.composite
def payloads(draw: st.DrawFn) -> list[bytes]:
    """Objects most of which are plain, and a few odd texts."""
    found = []
    plain = draw(st.booleans())
    for _ in range(draw(st.integers(1, 5))):
        fields = {
            "time": draw(_TIMES) if not plain else "1772344800000000",
            "id": str(draw(st.integers(0, 3))),
        }
        for name, value in (("x", "0.5"), ("n", "7"), ("s", '"t"'), ("on", "true")):
            if draw(st.booleans()):
                fields[name] = value
        if not plain or draw(st.integers(0, 9)) == 0:
            fields[draw(_NAMES)] = draw(_VALUES)
        items = [f'"{name}": {value}' for name, value in fields.items()]
        if draw(st.integers(0, 19)) == 0:
            items.append(items[-1])
        found.append(("{" + ", ".join(items) + "}").encode())
    if draw(st.integers(0, 9)) == 0:
        odd = [
            b"",
            b"7",
            b"{}",
            b"{}{}",
            b'{"x": 1',
            b'{"x": {}}',
            b'{"s": "}',
            b'{"}',
            b'{"s": "\xff"}',
            b"[]",
            b"{{}",
        ]
        found.insert(draw(st.integers(0, len(found))), draw(st.sampled_from(odd)))
    return found


@pytest.mark.parametrize("stream", [AIR, ONE], ids=["air", "one"])
@given(texts=payloads())
def test_the_short_way_gives_what_the_general_way_gives(stream: Stream, texts: list[bytes]) -> None:
    messages = Messages(texts, [1_772_344_900_000_000] * len(texts), ["t"] * len(texts))
    short, general = Decoder(stream), Decoder(stream)
    general._plain = None
    for form in (Format.AUTO, Format.JSON):
        ours, theirs = short.decode(messages, form), general.decode(messages, form)
        assert ours.rows.equals(theirs.rows, null_equal=True)
        assert ours.rows.schema == theirs.rows.schema
        assert (ours.garbled, ours.fields) == (theirs.garbled, theirs.fields)
        whose = [[] if one.messages is None else one.messages.to_list() for one in (ours, theirs)]
        assert whose[0] == whose[1]


def test_plain_objects_take_the_short_way() -> None:
    decoder = Decoder(AIR)
    assert decoder._plain is not None
    numbers = [
        b'{"id": 1, "time": 1772344800000000, "x": 1}',
        b'{"time": 1772344801000000, "id": 2, "on": false}',
    ]
    found = decoder._plain.read(numbers)
    assert found is not None
    assert found.select("time", "id", "x", "on").rows() == [
        (1772344800000000, 1, 1.0, None),
        (1772344801000000, 2, None, False),
    ]
    texts = [b'{"id": 1, "time": "2026-03-01T06:00:00.5Z", "s": "a"}'] * 3
    found = decoder._plain.read(texts)
    assert found is not None
    assert found.get_column("time").unique().to_list() == [1772344800500000]
    assert decoder._plain.read([*numbers, *texts]) is None, "numbers and texts together go the general way"
    assert isinstance(decoder._plain.read(numbers), pl.DataFrame)
