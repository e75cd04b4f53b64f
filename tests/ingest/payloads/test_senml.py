"""SenML (RFC 8428): base values, relative times, names, units."""

from __future__ import annotations

import json
from typing import Any

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.catalog.form import Form
from nilometer.ingest.payloads import Decoded, Decoder, Messages, TopicPattern
from nilometer.types import BOOLEAN, FLOAT, INT, SECOND, STRING, Column

ARRIVED = 1_800_000_000 * SECOND
WEATHER = Stream(
    "weather",
    stream_columns(
        (
            Column("temp", FLOAT, "K"),
            Column("humidity", FLOAT, "%"),
            Column("rain", BOOLEAN),
            Column("note", STRING),
            Column("tips", INT),
        ),
        STRING,
    ),
)
SINGLE = Stream("current", stream_columns((Column("current", FLOAT, "A"),), STRING))


def decode(stream: Stream, *packs: Any, topic: str | None = None, source: str = "here") -> Decoded:
    payloads = [json.dumps(pack).encode() for pack in packs]
    decoder = Decoder(stream, topic=None if topic is None else TopicPattern.parse(topic))
    return decoder.decode(Messages(payloads, [ARRIVED] * len(payloads), [source] * len(payloads)))


def test_rfc_multiple_datapoints() -> None:
    """Section 5.1.2, its second example."""
    decoded = decode(
        SINGLE,
        [
            {"bn": "urn:dev:ow:10e2073a0108006:", "bt": 1.276020076001e09, "bu": "A", "bver": 5, "n": "voltage",
             "u": "V", "v": 120.1},
            {"n": "current", "t": -5, "v": 1.2},
            {"n": "current", "t": -4, "v": 1.3},
            {"n": "current", "v": 1.7},
        ],
    )  # fmt: skip
    # A stream of one column takes names that end in no column for sensor ids; volts are not amperes.
    assert decoded.rows.rows() == [
        (1_276_020_071_001_000, "urn:dev:ow:10e2073a0108006", 1.2),
        (1_276_020_072_001_000, "urn:dev:ow:10e2073a0108006", 1.3),
        (1_276_020_076_001_000, "urn:dev:ow:10e2073a0108006", 1.7),
    ]
    assert decoded.garbled[0].reason == "the unit 'V' cannot be given in 'A'"


def test_rows_of_several_columns() -> None:
    decoded = decode(
        WEATHER,
        [
            {"bn": "roof/", "bt": 1.7e9, "n": "temp", "u": "Cel", "v": 20},
            {"n": "humidity", "u": "%RH", "v": 40},
            {"n": "temp", "u": "Cel", "v": 21, "t": 10},
            {"n": "rain", "vb": True, "t": 10},
            {"n": "note", "vs": "wet", "t": 10},
            {"n": "unknown", "v": 1, "t": 10},
            {"bn": "cellar/", "bv": 5, "n": "tips", "v": 2},
        ],
        [{"n": "attic:temp", "u": "K", "v": 290, "t": -2}],
    )
    assert not decoded.garbled
    assert decoded.rows.rows() == [
        (1_700_000_000_000_000, "roof", 293.15, 40.0, None, None, None),
        (1_700_000_010_000_000, "roof", 294.15, None, True, "wet", None),
        (1_700_000_000_000_000, "cellar", None, None, None, None, 7),
        (ARRIVED - 2 * SECOND, "attic", 290.0, None, None, None, None),
    ]


def test_base_values_end_with_their_pack() -> None:
    decoded = decode(
        WEATHER,
        [{"bn": "a/", "bt": 1.7e9, "bu": "Cel", "n": "temp", "v": 0}],
        [{"n": "temp", "v": 1}],
    )
    assert decoded.rows.rows() == [
        (1_700_000_000_000_000, "a", 273.15, None, None, None, None),
        (ARRIVED, None, 1.0, None, None, None, None),
    ]


def test_the_same_column_twice_makes_two_rows() -> None:
    decoded = decode(
        WEATHER, [{"bn": "a/", "n": "temp", "v": 1}, {"n": "temp", "v": 2}, {"n": "humidity", "v": 3}]
    )
    assert decoded.rows.select("temp", "humidity").rows() == [(1.0, 3.0), (2.0, None)]


def test_garbled_records() -> None:
    decoded = decode(
        WEATHER,
        [{"bn": "a/", "n": "temp", "v": "warm"}, {"n": "temp", "t": 1, "v": 2}, {"n": "temp", "t": 2}],
        [{"n": "a/temp", "v": 1, "t": "soon"}],
        [{"n": "a/temp", "v": 1, "bver": 11}],
        [{"n": "a/temp", "v": 1, "must_": 1}],
        [{"n": "a/unknown", "v": 1}],
        [{"n": "a/temp", "u": "lx", "v": 1}],
        [{"n": "a/tips", "v": 1.5}],
        [{"n": "a/temp", "v": 1}, 7],
    )
    assert decoded.rows["temp"].to_list() == [2.0, 1.0]
    assert [(letter.count, letter.reason) for letter in decoded.garbled] == [
        (1, "temp 'warm' is not a FLOAT"),
        (1, "a SenML record without v, vs or vb"),
        (1, "t is no time"),
        (1, "a SenML version above 10"),
        (1, "a SenML field that must be understood, and is not"),
        (1, "no reading in it"),
        (1, "the unit 'lx' cannot be given in 'K'"),
        (1, "tips '1.5' is not an INT"),
        (1, "not a JSON object"),
    ]


def test_the_topic_names_the_sensor() -> None:
    pack = [{"bn": "urn:dev:mac:0024befffe804ff1:", "n": "temp", "v": 1}]
    assert decode(WEATHER, pack, topic="sky/{id}", source="sky/7").rows["id"].to_list() == ["7"]
    assert decode(WEATHER, pack, topic="sky/+", source="sky/7").rows["id"].to_list() == [
        "urn:dev:mac:0024befffe804ff1"
    ]
    assert decode(WEATHER, [{"n": "temp", "v": 1}], topic="sky/+", source="sky/7").rows["id"].to_list() == [
        "7"
    ]


def test_a_record_may_name_the_field_that_a_column_is_from() -> None:
    stream = Stream("air", stream_columns((Column("pm25", FLOAT),)), form=Form((("pm25", "PM2.5"),)))
    pack = b'[{"bn": "7:", "bt": 1700000000, "n": "PM2.5", "v": 3}, {"n": "pm10", "v": 4}]'
    rows = Decoder(stream).decode(Messages([pack], [1_700_000_000 * SECOND], [""])).rows
    assert rows.rows() == [(1_700_000_000 * SECOND, 7, 3.0)]
