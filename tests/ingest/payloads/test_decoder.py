"""Payloads -> rows: formats, topics, times; every reading a row or garbled."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.errors import ConfigurationError
from nilometer.ingest.payloads import Decoded, Decoder, Format, Messages, Times, TopicPattern, format_of
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, SECOND, STRING, Column

ARRIVED = 1_800_000_000 * SECOND
AIR = Stream("air", stream_columns((Column("pm25", FLOAT, "ug/m3"), Column("humid", INT, "%"))))
DEPTH = Stream("depth", stream_columns((Column("depth", FLOAT, "m"),), STRING))


def decode(
    stream: Stream,
    *payloads: bytes,
    topic: str | None = None,
    topics: Sequence[str] = (),
    format: Format = Format.AUTO,
    times: Times = Times.EITHER,
) -> Decoded:
    pattern = None if topic is None else TopicPattern.parse(topic)
    decoder = Decoder(stream, format=format, topic=pattern, times=times)
    sources = topics or ["here"] * len(payloads)
    decoded = decoder.decode(Messages(payloads, [ARRIVED] * len(payloads), sources))
    assert decoded.rows.columns == [column.name for column in stream.columns]
    return decoded


def test_objects_and_arrays_in_message_order() -> None:
    decoded = decode(
        AIR,
        b'{"time": 5, "id": 1, "pm25": 2.5, "humid": 40, "other": [1, {"x": 2}]}',
        b'[{"time": 6, "id": 2, "pm25": 3, "humid": null}, {"time": 7, "id": 2}]',
        b'\n{"id": 3, "time": "1970-01-01T00:00:01Z", "PM25": 1e3}\n',
    )
    assert decoded.rows.rows() == [
        (5, 1, 2.5, 40),
        (6, 2, 3.0, None),
        (7, 2, None, None),
        (1_000_000, 3, 1000.0, None),
    ]
    assert not decoded.garbled


def test_garbled_readings_leave_the_others() -> None:
    payloads = (
        b'{"time": 1, "id": 1, "pm25": 1}',
        b'{"time": 2, "id": 1, "pm25": ',
        b"\xff\xfe",
        b'[{"time": 3, "id": 1, "pm25": 3}, {"time": 4, "id": 1, "pm25": "x"}, 5]',
        b"",
        b"[]",
        b'{"time": 6, "id": 1, "pm25": {"deep": 1}}',
        b'{"time": "soon", "id": 1}',
        b'{"time": 8, "id": 1, "pm25": 1e999}',
        b'{"time": 9, "id": 1, "pm25": 9}',
    )
    decoded = decode(AIR, *payloads)
    assert decoded.rows["time"].to_list() == [1, 3, 9]
    own = [b'{"time": 4, "id": 1, "pm25": "x"}', b"5"]
    assert [letter.payload for letter in decoded.garbled] == [*payloads[1:3], *own, *payloads[4:9]]
    assert {letter.count for letter in decoded.garbled} == {1}
    reasons = [letter.reason for letter in decoded.garbled]
    assert reasons[1].startswith("not UTF-8")
    assert reasons[2:4] == ["pm25 'x' is not a FLOAT", "not a JSON object"]
    assert reasons[4:6] == ["an empty payload", "no reading in it"]
    assert reasons[7] == "time 'soon' is not a TIME"
    assert decoded.received == 12


def test_nan_is_null_and_what_is_too_large_says_so() -> None:
    payloads = (
        b'{"time": 1, "id": 1, "pm25": NaN, "humid": NaN}',
        b'[{"time": 2, "id": 1, "pm25": Infinity}, {"time": 3, "id": 1, "pm25": -Infinity, "humid": 4}]',
        b'{"time": 4, "id": 1, "humid": Infinity}',
        b'[{"time": 5, "id": 1, "pm25": 1e400}, {"time": 6, "id": 1, "pm25": 6}]',
        b'{"time": 7, "id": 1, "pm25": 7, "other": 1e400}',
        b'{"time": 8, "id": 1, "humid": %s}' % (b"9" * 5000),
        b'[{"n": "1:pm25", "v": NaN, "bt": 1.7e9}]',
        b"9,1,1e400,4",
        b"10,1,NaN,4",
    )
    decoded = decode(AIR, *payloads)
    assert decoded.rows.rows() == [
        (1, 1, None, None),
        (2, 1, None, None),  # as in a CSV file
        (3, 1, None, 4),
        (6, 1, 6.0, None),
        (7, 1, 7.0, None),
        (1_700_000_000 * SECOND, 1, None, None),
        (10, 1, None, 4),
    ]
    assert [(letter.payload, letter.reason) for letter in decoded.garbled] == [
        (payloads[2], "humid 'Infinity' is not an INT"),
        (b'{"time": 5, "id": 1, "pm25": 1e400}', "pm25 '1e400' is not a FLOAT: too large"),
        (payloads[5], f"humid '{'9' * 40}' is not an INT"),
        (payloads[7], "pm25 '1e400' is not a FLOAT: too large"),
    ]


def test_points_and_nested_values() -> None:
    stream = Stream(
        "buoys", stream_columns((Column("at", POINT), Column("ok", BOOLEAN), Column("note", STRING)))
    )
    decoded = decode(
        stream,
        b'{"time": 1, "id": 1, "at": {"x": 1, "y": 2}, "ok": true, "note": "a \\"b\\" \\n c"}',
        b'{"time": 2, "id": 1, "at": [3, 4.5], "ok": 0, "note": 12}',
    )
    assert decoded.rows["at"].to_list() == [{"x": 1.0, "y": 2.0}, {"x": 3.0, "y": 4.5}]
    assert decoded.rows["ok"].to_list() == [True, False]
    assert decoded.rows["note"].to_list() == ['a "b" \n c', "12"]


def test_topic_levels_become_columns() -> None:
    stream = Stream(
        "air", stream_columns((Column("site", STRING), Column("pm25", FLOAT), Column("topic", STRING)))
    )
    decoded = decode(
        stream,
        b'{"time": 1, "pm25": 1}',
        b'{"time": 2, "pm25": 2, "id": 99, "site": "elsewhere"}',
        topic="air/{site}/+",
        topics=["air/north/7", "air/south/8"],
    )
    assert decoded.rows.rows() == [
        (1, 7, "north", 1.0, "air/north/7"),
        (2, 99, "south", 2.0, "air/south/8"),  # {site} overrules the payload, + only fills in
    ]
    spoilt = decode(stream, b'{"time": 1, "pm25": 1}', topic="air/{site}/+", topics=["air/north/seven"])
    assert spoilt.garbled[0].reason == "id 'seven' is not an INT"
    assert spoilt.garbled[0].source == "air/north/seven"


@pytest.mark.parametrize("stream", [AIR, DEPTH])
@pytest.mark.parametrize("topic", ["air/{id}", "air/+"])
def test_an_empty_level_is_no_id(stream: Stream, topic: str) -> None:
    value = b'"pm25": 1, "depth": 1'
    payloads = b'{"time": 1, %s}' % value, b'{"time": 2, "id": 9, %s}' % value, b'{"time": 3, %s}' % value
    decoded = decode(stream, *payloads, topic=topic, topics=["air/", "air/", "air/7"])
    named = [2, 3] if topic == "air/+" else [3]  # a + gives way to the payload's own id
    assert decoded.rows["time"].to_list() == named
    assert {letter.reason for letter in decoded.garbled} == {"no id: its level of the topic is empty"}
    assert decoded.received == 3


@pytest.mark.parametrize("pattern", ["", "air/#/x", "air/a+", "air/{id}/{id}", "$share/x", "a/{b"])
def test_patterns_that_cannot_be(pattern: str) -> None:
    with pytest.raises(ConfigurationError):
        TopicPattern.parse(pattern)


def test_shared_subscriptions_and_the_sensors_topics() -> None:
    pattern = TopicPattern.parse("$share/group/air/{id}/raw")
    assert (pattern.filter, pattern.plain) == ("$share/group/air/+/raw", "air/+/raw")
    assert pattern.sensor("air/7/raw") == "7"
    assert pattern.topic_of("7") == "air/7/raw"
    assert TopicPattern.parse("air").topic_of("7") == "air/7"
    assert TopicPattern.parse("air/+/+").topic_of("7") is None


def matched(filter: str, topic: str) -> bool:
    """MQTT 5, section 4.7, level by level: the naive twin."""
    wanted, found = filter.split("/"), topic.split("/")
    if wanted[0] in ("+", "#") and topic.startswith("$"):
        return False
    for place, part in enumerate(wanted):
        if part == "#":
            return True
        if place >= len(found) or part not in ("+", found[place]):
            return False
    return len(wanted) == len(found)


LEVEL = st.sampled_from(["", "a", "b", "a.b", "+", "$SYS", "a\nb"])


@given(
    st.lists(LEVEL, min_size=1, max_size=4),
    st.booleans(),
    st.lists(st.lists(LEVEL.filter(lambda level: level != "+"), min_size=1, max_size=4), max_size=8),
)
def test_topics_that_a_pattern_subscribes_to(levels: list[str], deep: bool, topics: list[list[str]]) -> None:
    filter = "/".join([*levels, "#"] if deep else levels)
    names = ["/".join(topic) for topic in topics]
    found = TopicPattern(filter).matches(pl.Series(names, dtype=pl.String))
    assert found.to_list() == [matched(filter, name) for name in names]
    assert TopicPattern("#").matches(pl.Series(["a", "/", "$SYS/x"])).to_list() == [True, True, False]


def test_times_of_arrival() -> None:
    payloads = b'{"id": 1, "pm25": 1}', b'{"id": 1, "pm25": 1, "time": 5}'
    assert decode(AIR, *payloads).rows["time"].to_list() == [ARRIVED, 5]
    assert decode(AIR, *payloads, times=Times.ARRIVAL).rows["time"].to_list() == [ARRIVED, ARRIVED + 1]
    valid = decode(AIR, *payloads, times=Times.VALID)
    assert valid.rows["time"].to_list() == [5]
    assert valid.garbled[0].reason == "no time"
    seconds = Stream("air", AIR.columns, time_unit=SECOND)
    assert decode(seconds, b'{"time": 1.5, "id": 1, "pm25": 1}').rows["time"].to_list() == [1_500_000]


def test_readings_of_one_message_without_a_time_are_told_apart() -> None:
    array = (
        b'[{"id": 1, "pm25": 1}, {"id": 2, "pm25": 2}, {"id": 1, "pm25": 3}, {"id": 1, "pm25": 4, "time": 5}]'
    )
    assert decode(AIR, array).rows["time"].to_list() == [ARRIVED, ARRIVED, ARRIVED + 1, 5]
    lines = b"id,pm25\n1,1\n1,2\n2,3\n"
    assert decode(AIR, lines).rows["time"].to_list() == [ARRIVED, ARRIVED + 1, ARRIVED]
    pack = b'[{"bn": "1:", "n": "pm25", "v": 1}, {"n": "pm25", "v": 2}, {"n": "pm25", "v": 3, "t": -1}]'
    assert decode(AIR, pack).rows["time"].to_list() == [ARRIVED, ARRIVED + 1, ARRIVED - SECOND]


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=4)),
        max_size=8,
    ),
    st.integers(0, 8),
)
def test_stamps_of_arrival_against_the_naive_twin(
    messages: list[tuple[int, list[tuple[int, bool]]]], cut: int
) -> None:
    """One at a time, each sensor's stamps grow; and so they do over two batches, wherever they are cut."""
    arrivals = np.cumsum([ARRIVED, *(step for step, _ in messages)])[1:].tolist()
    payloads = [
        json.dumps(
            [{"id": sensor, "pm25": 1} | ({"time": 7} if timed else {}) for sensor, timed in readings]
        ).encode()
        for _, readings in messages
    ]

    def stamps(decoder: Decoder, part: slice) -> list[tuple[int, int]]:
        some = payloads[part]
        rows = decoder.decode(Messages(some, arrivals[part], [""] * len(some))).rows
        return rows.select("id", "time").rows()

    expected, last = [], dict[int, int]()
    for arrived, (_, readings) in zip(arrivals, messages, strict=True):
        for sensor, timed in readings:
            if not timed:
                last[sensor] = max(arrived, last.get(sensor, 0) + 1)
            expected.append((sensor, 7 if timed else last[sensor]))
    assert stamps(Decoder(AIR), slice(None)) == expected
    halves = Decoder(AIR)
    parts = [stamps(halves, part) for part in (slice(0, cut), slice(cut, None))]
    for part in parts:
        given = [row for row in part if row[1] != 7]
        assert len(set(given)) == len(given)
    if cut < len(arrivals) and (not cut or arrivals[cut] > arrivals[cut - 1]):
        given = [row for part in parts for row in part if row[1] != 7]
        assert len(set(given)) == len(given)


def test_csv_by_header_by_width_and_bare() -> None:
    decoded = decode(
        AIR,
        b"1,7,2.5,40",
        b"pm25;humid;time;id\n;41;2;8\n0;42;3;8\r\n",
        b'4,9,"5.5",',
        b"1,2",
        format=Format.AUTO,
    )
    assert decoded.rows.rows() == [(1, 7, 2.5, 40), (2, 8, None, 41), (3, 8, 0.0, 42), (4, 9, 5.5, None)]
    assert decoded.garbled[0].reason == "2 fields where 3 or 4 are expected"
    bare = decode(DEPTH, b"21.5", b"7,22", b"time,depth", topic="well/{id}", topics=["well/a"] * 3)
    assert bare.rows.rows() == [(ARRIVED, "a", 21.5), (7, "a", 22.0)]
    assert bare.garbled[0].reason == "no reading in it"


def test_media_types() -> None:
    assert format_of("application/senml+json") is Format.SENML
    assert format_of("text/csv; charset=utf-8") is Format.CSV
    assert format_of("application/json") is Format.AUTO
    assert format_of(None) is Format.AUTO


def test_spellings_are_found_in_any_message() -> None:
    many = [b'{"time": %d, "id": 1, "pm25": 1, "humid": 2}' % n for n in range(100)]
    decoded = decode(AIR, *many, b'{"TIME": 100, "Id": 1, "PM25": 4.5, "HUMID": 3}')
    assert decoded.rows.rows()[-1] == (100, 1, 4.5, 3)


@pytest.mark.promise("odd-inputs")
@pytest.mark.parametrize(
    ("escaped", "kept"),
    [
        (r"\ud800", None),
        (r"a\uD83Db", None),
        (r"\udc00", None),
        (r"\ude00\ud83d", None),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\\ud83d", r"\ud83d"),
        (r"\\\ud83d", None),
        (r"\u0000", "\0"),
    ],
)
def test_half_a_surrogate_pair_is_garbled_and_not_another_text(escaped: str, kept: str | None) -> None:
    """Polars reads half of a pair as NUL, so the ids of two sensors would become one."""
    decoded = decode(DEPTH, f'{{"id": "{escaped}", "depth": 1}}'.encode(), b'{"id": "b", "depth": 2}')
    assert decoded.rows.get_column("id").to_list() == ([] if kept is None else [kept]) + ["b"]
    assert decoded.garbled_count == (kept is None)
