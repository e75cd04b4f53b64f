"""Columns from fields, from JSON paths and from each item of an array, against a naive twin that walks each message."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.extents import Stream
from nilometer.catalog.json_path import PathError, parse_path, print_path
from nilometer.engine.declare import stream_of
from nilometer.errors import CatalogError
from nilometer.ingest.payloads import Decoded, Decoder, Messages, TopicPattern
from nilometer.language import ast, parse
from nilometer.types import SECOND, parse_time

ARRIVED = 1_800_000_000 * SECOND


def declared(text: str) -> Stream:
    statement = parse(text)
    assert isinstance(statement, ast.CreateStream)
    return stream_of(statement, text)


def decode(
    stream: Stream | str, *payloads: object, topic: str | None = None, topics: list[str] | None = None
) -> Decoded:
    stream = declared(stream) if isinstance(stream, str) else stream
    raw = [p if isinstance(p, bytes) else json.dumps(p).encode() for p in payloads]
    decoder = Decoder(stream, topic=None if topic is None else TopicPattern.parse(topic))
    return decoder.decode(Messages(raw, [ARRIVED] * len(raw), topics or ["here"] * len(raw)))


# ---- paths -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=6) | st.integers(0, 999), max_size=5).map(tuple))
def test_a_printed_path_is_read_back(path: tuple[str | int, ...]) -> None:
    assert parse_path(print_path(path)) == path


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("$.", 1),
        ("$..a", 1),
        ("$.a[*]", 3),
        ("$.a[-1]", 3),
        ("$.a b", 3),
        ("$['a'", 1),
        ("a.b", 0),
        ("$[1.5]", 1),
    ],
)
def test_what_is_no_path_names_its_place(text: str, place: int) -> None:
    with pytest.raises(PathError) as caught:
        parse_path(text)
    assert caught.value.place == place


def test_a_wrong_path_has_a_caret() -> None:
    with pytest.raises(CatalogError) as caught:
        declared("CREATE STREAM s (v FLOAT FROM '$.a''s[*]') PUSHED")
    assert str(caught.value).splitlines()[2:4] == [
        "    CREATE STREAM s (v FLOAT FROM '$.a''s[*]') PUSHED",
        "                                      ^^^^^^",
    ]


# ---- what a message is -----------------------------------------------------------------------------------------------

NESTED = """CREATE STREAM s (time FROM '$.when', id STRING FROM '$.who.name', temp FLOAT FROM '$.a.b[1].c',
    note STRING FROM remark) PUSHED"""


def test_paths_names_and_arrays() -> None:
    decoded = decode(
        NESTED,
        {"when": "2026-03-01T06:00:00Z", "who": {"name": "x"}, "a": {"b": [0, {"c": 1.5}]}, "remark": "fine"},
        {"when": 1772344800, "who": {"name": 7}, "a": {"b": [0]}, "Remark": "spelled otherwise"},
        {"when": 1772344800123, "who": "odd", "a": {"b": [{}, {"c": "2.5"}]}},
    )
    noon = parse_time("2026-03-01T06:00:00Z")
    assert decoded.rows.rows() == [
        (noon, "x", 1.5, "fine"),
        (noon, "7", None, "spelled otherwise"),
        (noon + 123_000, None, 2.5, None),
    ]
    assert not decoded.garbled


def test_a_message_without_any_column_is_a_dead_letter() -> None:
    stream = "CREATE STREAM s (pm25 FLOAT, humid INT) PUSHED"
    decoded = decode(
        stream,
        {"time": 1, "id": 1, "PM25": None},
        {"time": 2, "id": 1, "values": {"pm25": 3}, "rssi": -70},
        [{"time": 3, "id": 1, "humid": 5}, {"time": 4, "id": 1}],
        [{"time": 5, "id": 1}, {"time": 6, "id": 1, "x": 1}],
        {},
    )
    assert decoded.rows["time"].to_list() == [1, 3, 4]
    assert [(letter.reason, letter.count) for letter in decoded.garbled] == [
        ("no declared column in it: it has time, id, $.values.pm25, rssi; expected pm25, humid", 1),
        ("no declared column in it: it has time, id, x; expected pm25, humid", 1),
        ("no declared column in it: it has time, id, x; expected pm25, humid", 1),
        ("no declared column in it: it has no fields; expected pm25, humid", 1),
    ]
    assert decoded.received == 7


def test_fields_that_lack_and_fields_beyond_are_counted() -> None:
    stream = "CREATE STREAM s (pm25 FLOAT, humid INT) PUSHED"
    counts = decode(
        stream, {"pm25": 1, "rssi": -7, "n": {"a": 1}}, {"pm25": 2, "humid": 3, "rssi": -8}
    ).fields
    assert counts.missing == {"humid": 1}
    assert counts.unknown == {"rssi": 2, "$.n.a": 1}
    assert counts.looked == 2
    assert decode(stream, *[{"pm25": n} for n in range(1000)]).fields.missing == {"humid": 1000}


def test_each_item_of_an_array_is_a_reading() -> None:
    stream = (
        "CREATE STREAM s (time FROM t, id STRING FROM '$.site', v FLOAT FROM '$.obs.x.v') PUSHED EACH '$.obs'"
    )
    decoded = decode(
        stream,
        {"site": "n", "obs": [{"t": 1, "x": {"v": 5}}, {"t": 2, "x": 7}, 3]},
        {"site": "n"},
        {"site": "n", "obs": []},
        [{"site": "a", "obs": [{"t": 3, "x": {"v": 1}}]}, {"site": "b", "obs": [{"t": 4, "x": {"v": 2}}]}],
    )
    assert decoded.rows.rows() == [(1, "n", 5.0), (2, "n", None), (3, "a", 1.0), (4, "b", 2.0)]
    assert [(letter.reason, letter.count) for letter in decoded.garbled] == [
        ("not a JSON object", 1),
        ("no array at $.obs", 1),
        ("no reading in it", 1),
    ]


def test_the_only_time_column_is_the_time() -> None:
    stream = "CREATE STREAM s (stamp TIME, v FLOAT) PUSHED"
    decoded = decode(stream, {"stamp": 5, "v": 1}, {"time": 6, "stamp": 7, "v": 2}, {"v": 3})
    assert decoded.rows.select("time", "stamp").rows() == [(5, 5), (6, 7), (ARRIVED, None)]
    both = decode("CREATE STREAM s (time TIME, stamp TIME, v FLOAT) PUSHED", {"stamp": 5, "v": 1})
    assert both.rows["time"].to_list() == [ARRIVED]


def test_bare_values() -> None:
    stream = "CREATE STREAM s (id STRING, v FLOAT) PUSHED"
    topics = ["s/a", "s/b", "s/c"]
    assert decode(stream, b"21.5", b"-3", b"1e2", topic="s/{id}", topics=topics).rows.rows() == [
        (ARRIVED, "a", 21.5),
        (ARRIVED, "b", -3.0),
        (ARRIVED, "c", 100.0),
    ]
    assert decode(stream, b"21.5").rows.rows() == [(ARRIVED, None, 21.5)]
    assert decode(f"{stream} FORMAT JSON", b"21.5").rows.rows() == [(ARRIVED, None, 21.5)]
    two = decode("CREATE STREAM s (id STRING, v FLOAT, w FLOAT) PUSHED", b"21.5")
    assert two.garbled[0].reason == "1 fields where 3 or 4 are expected"


def test_a_header_may_name_fields_that_are_not_declared() -> None:
    stream = "CREATE STREAM s (v FLOAT, w FLOAT) PUSHED"
    decoded = decode(stream, b"id,v,battery\n7,1.5,98\n8,2.5,97")
    assert decoded.rows.rows() == [(ARRIVED, 7, 1.5, None), (ARRIVED, 8, 2.5, None)]
    assert (decoded.fields.missing, decoded.fields.unknown) == ({"w": 2}, {"battery": 1})


def test_switches_are_boolean() -> None:
    rows = decode("CREATE STREAM s (lit BOOLEAN) PUSHED", b"ON", b"off", b'{"lit": "On"}', b"maybe")
    assert rows.rows["lit"].to_list() == [True, False, True]
    assert rows.garbled[0].reason == "lit 'maybe' is not a BOOLEAN"


# ---- times -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 1_000, 1_000_000, 1_000_000_000])
def test_epochs_are_told_by_their_size(factor: int) -> None:
    stream = declared("CREATE STREAM s (v FLOAT) PUSHED")
    for payload in ({"time": 1_772_344_800 * factor, "v": 1}, b"%d,1,2" % (1_772_344_800 * factor)):
        assert decode(stream, payload).rows["time"].to_list() == [parse_time("2026-03-01T06:00:00Z")]
    assert decode(stream, {"time": 1_772_344_800.25, "v": 1}).rows["time"][0] % SECOND == 250_000
    assert decode(stream, {"time": 900_000, "v": 1}).rows["time"].to_list() == [900_000]


def test_a_time_in_another_unit_than_the_declared_one_is_told() -> None:
    seconds = "CREATE STREAM s (time INT UNIT 's', v FLOAT) PUSHED"
    late = decode(seconds, {"time": 1_772_344_800_000, "v": 1})
    assert late.garbled[0].reason == (
        "time '1772344800000' is not a TIME: it looks like milliseconds, and the stream declares seconds"
    )
    old = decode("CREATE STREAM s (time INT UNIT 'ms', v FLOAT) PUSHED", {"time": 1_772_344_800, "v": 1})
    assert old.rows["time"].to_list() == [1_772_344_800_000]
    assert old.fields.remarks == {"near 1970: it looks like seconds, and is read as milliseconds": 1}
    unset = decode("CREATE STREAM s (time TIME, v FLOAT) PUSHED", {"time": 12_345, "v": 1})
    told = "near 1970: too small a number for a time of today, and read as microseconds; is the clock set?"
    assert unset.fields.remarks == {told: 1}
    relative = decode(seconds, {"time": 90, "v": 1})
    assert (relative.rows["time"].to_list(), relative.fields.remarks) == ([90 * SECOND], {})


def test_formats_of_payloads() -> None:
    stream = """CREATE STREAM s (time TIME, id STRING, v FLOAT) PUSHED FORMAT CSV (DELIMITER '|', DECIMAL ',',
        TIME FORMAT '%d/%m/%Y %H:%M', TIMEZONE 'Europe/Zurich', NULL ('NA', '-'), ENCODING 'latin1')"""
    decoded = decode(
        stream,
        "01/07/2026 12:00|Z\xfcrich|1,5".encode("latin1"),
        b"29/03/2026 02:30|a|1",
        b"25/10/2026 02:30|a|NA",
        b"1/7/2026 12:00|-|1.5",
    )
    assert decoded.rows.rows() == [
        (parse_time("2026-07-01T10:00:00Z"), "Z\xfcrich", 1.5),
        (parse_time("2026-10-25T00:30:00Z"), "a", None),
    ]
    assert [letter.reason for letter in decoded.garbled] == [
        "time '29/03/2026 02:30' is not a TIME by '%d/%m/%Y %H:%M' in Europe/Zurich",
        "v '1.5' is not a FLOAT",
    ]
    assert decoded.fields.remarks == {"a time that the clocks show twice is taken as the first": 1}
    mapped = "CREATE STREAM s (id FROM dev, v FLOAT FROM 'PM2.5 (x)', w FLOAT) PUSHED FORMAT CSV (HEADER ON)"
    assert decode(mapped, b"PM2.5 (x),dev,other\n3,1,z\n4,2,z").rows.rows() == [
        (ARRIVED, 1, 3.0, None),
        (ARRIVED, 2, 4.0, None),
    ]
    placed = "CREATE STREAM s (id INT FROM column_3, v FLOAT FROM column_1) PUSHED"
    assert decode(placed, b"5,x,7", b"5,x").rows.rows() == [(ARRIVED, 7, 5.0)]


# ---- any message, against the naive twin -----------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.sampled_from(["", "x", "5"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "v", "obs", "A"]), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "v", "obs", "site", "time"]), VALUES, max_size=4)
PATHS = ["$.a.b", "$.a", "$.a[0]", "$.b[1].v", "$.obs.v", "$.obs[0]", "$.v", "$"]


def walk(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        try:
            value = value[step] if isinstance(value, dict if isinstance(step, str) else list) else None
        except (KeyError, IndexError):
            return None
    return value


def as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value)
    return json.dumps(value) if not isinstance(value, float) else repr(value)


@given(
    st.lists(OBJECTS | st.lists(OBJECTS | VALUES, max_size=3), min_size=1, max_size=6),
    st.lists(st.sampled_from(PATHS), min_size=1, max_size=3, unique=True),
    st.none() | st.sampled_from(["$.obs", "$.a.b"]),
)
def test_any_message_against_the_naive_twin(messages: list[Any], paths: list[str], each: str | None) -> None:
    columns = ", ".join(f"c{place} STRING FROM '{path}'" for place, path in enumerate(paths))
    clause = "" if each is None else f" EACH '{each}'"
    stream = declared(f"CREATE STREAM s (time TIME FROM '$.t', topic STRING, {columns}) PUSHED{clause}")
    payloads = [json.dumps(message).encode() for message in messages]
    topics = [str(number) for number in range(len(payloads))]
    pattern = TopicPattern.parse("#")
    together = Decoder(stream, topic=pattern).decode(Messages(payloads, [ARRIVED] * len(payloads), topics))
    heard = together.rows["topic"].to_list() + [letter.source for letter in together.garbled]
    assert set(heard) == set(topics)
    start = () if each is None else parse_path(each)
    for number, message in enumerate(messages):
        found = together.rows.filter(pl.col("topic") == str(number)).select(pl.col("^c\\d+$"))
        letters = [letter for letter in together.garbled if letter.source == str(number)]
        assert all(letter.count == 1 for letter in letters)
        alone = Decoder(stream, topic=pattern).decode(Messages([payloads[number]], [ARRIVED], [str(number)]))
        assert alone.rows.select(pl.col("^c\\d+$")).rows() == found.rows()
        assert [letter.reason for letter in alone.garbled] == [letter.reason for letter in letters]
        expected = []
        for element in message if isinstance(message, list) else [message]:
            items = [element] if each is None else walk(element, start)
            for item in items if isinstance(items, list) else []:
                values = []
                for path in map(parse_path, paths):
                    inside = each is None or path[: len(start)] == start
                    steps = path[len(start) :] if each is not None and inside else path
                    values.append(walk(item if inside else element, steps))
                expected.append(values)
        rows = found.rows()
        assert len(rows) <= len(expected)
        if len(rows) == len(expected):
            for row, values in zip(rows, expected, strict=True):
                for shown, value in zip(row, values, strict=True):
                    if not isinstance(value, float):
                        assert shown == as_text(value)


ODD = [
    NESTED,
    "CREATE STREAM s (time FROM t, id STRING FROM '$.site', v FLOAT FROM '$.obs.x.v', topic STRING) PUSHED EACH '$.obs'",
    """CREATE STREAM s (time TIME, v FLOAT, topic STRING) PUSHED FORMAT CSV (DELIMITER '|', DECIMAL ',', HEADER ON,
        TIME FORMAT '%d/%m/%Y %H:%M', TIMEZONE 'Europe/Zurich', NULL 'NA', QUOTE '~', ENCODING 'latin1')""",
    "CREATE STREAM s (v FLOAT FROM column_2, topic STRING) PUSHED FORMAT JSON (TIMEZONE 'America/New_York')",
]
PIECES = st.sampled_from(
    [
        b'{"obs":',
        b'[{"t":1,"x":',
        b'{"v":',
        b"}",
        b"]",
        b"2.5",
        b"|",
        b"~",
        b"\n",
        b"\xff",
        b"29/03/2026 02:30",
        b"NA",
    ]
)


@given(
    st.sampled_from(ODD),
    st.lists(st.lists(PIECES, max_size=8).map(b"".join) | st.binary(max_size=20), min_size=1, max_size=8),
)
def test_any_bytes_are_rows_or_a_dead_letter(text: str, payloads: list[bytes]) -> None:
    stream = declared(text)
    topics = [str(number) for number in range(len(payloads))]
    decoder = Decoder(stream, topic=TopicPattern.parse("{site}"))
    decoded = decoder.decode(Messages(payloads, [ARRIVED] * len(payloads), topics))
    assert decoded.received >= len(payloads)
    assert all(letter.reason and letter.payload for letter in decoded.garbled if payloads[int(letter.source)])
    if stream.column("topic"):
        assert set(decoded.rows["topic"].to_list()) | {letter.source for letter in decoded.garbled} == set(
            topics
        )
