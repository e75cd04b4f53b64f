"""100,000 damaged payloads: never an exception, every payload is rows or a dead letter, the sound ones are untouched."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.payloads import Decoded, Decoder, Format, Messages, TopicPattern
from nilometer.types import BOOLEAN, FLOAT, INT, SECOND, STRING, Column

pytestmark = pytest.mark.slow

ARRIVED = 1_800_000_000 * SECOND
STREAM = Stream(
    "fuzz",
    stream_columns(
        (
            Column("topic", STRING),
            Column("pm25", FLOAT, "ug/m3"),
            Column("count", INT),
            Column("ok", BOOLEAN),
            Column("note", STRING),
        )
    ),
)
SEEDS = [
    b'{"time": 1700000000000000, "id": 7, "pm25": 2.5, "count": 3, "ok": true, "note": "fine"}',
    b'[{"time": "2026-01-01T00:00:00Z", "id": 7, "pm25": 1}, {"time": 5, "id": 8, "count": -4}]',
    b'[{"bn": "7:", "bt": 1.7e9, "bu": "ug/m3", "n": "pm25", "v": 3}, {"n": "count", "v": 4}, {"n": "note", "vs": "x"}]',
    b'[{"n": "7:pm25", "u": "mg/m3", "v": 0.25, "t": -3}, {"n": "7:ok", "vb": false, "t": -3}]',
    b"1700000000000000,7,t,2.5,3,true,fine",
    b'time;id;pm25\n1;7;2.5\n2;7;"3.5"\n',
]
WORDS = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"1e999", b"-", b"\n", b"\xff", b"\x00", b"\\u", b'"v":',
         b'"bn":', b'{"x":1}', b"NaN", b"\xef\xbb\xbf", b"9" * 30, b'"bt":1e300', b'"u":"lx"', b"[" * 200]  # fmt: skip


def is_of(letter: bytes, payload: bytes) -> bool:
    """Whether a letter is the payload, a part of it with or without the header, or a record that was resolved."""
    parts = letter in payload or all(line in payload for line in letter.split(b"\n", 1))
    return parts or isinstance(json.loads(letter), dict)


def decode(payloads: list[bytes], format: Format = Format.AUTO, first: int = 0) -> Decoded:
    """`first` is the number of the first message among all: they arrive ten seconds apart."""
    decoder = Decoder(STREAM, topic=TopicPattern.parse("#"), format=format)
    topics = [str(number) for number in range(len(payloads))]
    arrived = [ARRIVED + 10 * SECOND * (first + number) for number in range(len(payloads))]
    decoded = decoder.decode(Messages(payloads, arrived, topics))
    heard = set(decoded.rows["topic"].to_list()) | {letter.source for letter in decoded.garbled}
    assert heard == set(topics)
    assert all(is_of(letter.payload, payloads[int(letter.source)]) for letter in decoded.garbled)
    assert decoded.received >= len(payloads)
    return decoded


def damaged(seed: bytes, random: Random) -> bytes:
    """The seed with a few bytes changed, cut out, doubled or put in."""
    payload = bytearray(seed)
    for _ in range(random.randrange(1, 4)):
        start = random.randrange(len(payload) + 1)
        end = start + random.randrange(8)
        match random.randrange(5):
            case 0:
                payload[start:end] = b""
            case 1:
                payload[start:start] = random.choice(WORDS)
            case 2:
                payload[start:end] = random.choice(WORDS)
            case 3:
                payload[start:start] = payload[start:end]
            case _:
                payload[start:end] = random.randbytes(end - start)
    return bytes(payload)


@pytest.mark.parametrize("format", list(Format))
def test_damaged_payloads(format: Format) -> None:
    random = Random(format.value)
    total = 0
    while total < 30_000:  # in four formats; nine in ten are damaged
        payloads = [damaged(random.choice(SEEDS), random) for _ in range(5_000)]
        payloads[::10] = random.choices(SEEDS, k=500)
        decoded = decode(payloads, format)
        total += len(payloads)
        if format is Format.AUTO:  # no sound payload suffers from its neighbours
            spoilt = {int(letter.source) for letter in decoded.garbled}
            assert not spoilt & set(range(0, 5_000, 10))


@given(st.lists(st.binary(max_size=40) | st.text(max_size=40).map(str.encode), min_size=1, max_size=20))
def test_any_bytes(payloads: list[bytes]) -> None:
    decode(payloads)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from("time id pm25 PM25 count ok note bn bt bu bv bver n u v vs vb vd t s".split())
OBJECTS = st.dictionaries(KEYS, VALUES | st.sampled_from(["pm25", "7:pm25", "ug/m3", "7:"]), max_size=6)


@given(st.lists(OBJECTS | st.lists(OBJECTS | VALUES, max_size=4), min_size=1, max_size=12))
def test_any_json(values: list[object]) -> None:
    """Whatever the batch, each message is decoded as it is alone."""
    payloads = [json.dumps(value).encode() for value in values]
    together = decode(payloads)
    alone = [decode([payload], first=number) for number, payload in enumerate(payloads)]
    assert together.received == sum(one.received for one in alone)
    assert together.rows.drop("topic").rows() == [
        row for one in alone for row in one.rows.drop("topic").rows()
    ]
    reasons = [letter.reason for one in alone for letter in one.garbled]
    assert [letter.reason for letter in together.garbled] == reasons
