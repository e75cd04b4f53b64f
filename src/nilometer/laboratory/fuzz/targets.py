"""The parsers as targets: a function of bytes each, and a small corpus to begin with.

The law: a target returns, or raises a NilometerError. Anything else is a crash.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.catalog.network_files import import_network
from nilometer.ingest.payloads import Decoder, Format, Messages
from nilometer.language import parse
from nilometer.log import StreamLog
from nilometer.sensornet.motes.serial_frames import FrameKind, FrameReader
from nilometer.sensornet.motes.values import CType, Field
from nilometer.types import FLOAT, INT, STRING, Column

COLUMNS = {"time": pl.Int64(), "depth": pl.Float64()}


@dataclass(frozen=True)
class Target:
    """A parser, and inputs that it knows."""

    parse: Callable[[bytes], object]
    corpus: tuple[bytes, ...]


def _sql(data: bytes) -> object:
    return parse(data.decode(errors="replace"))


@cache
def _decoder(format: Format) -> Decoder:
    columns = (Column("x", INT), Column("v", FLOAT), Column("name", STRING))
    return Decoder(Stream("fuzzed", stream_columns(columns)), format=format)


def _payload(format: Format) -> Callable[[bytes], object]:
    # A good neighbour: one bad message must not spoil the batch.
    return lambda data: _decoder(format).decode(
        Messages((data, b'{"time": 1767225600, "id": 1, "x": 1}'), (0, 0), ("a", "b"))
    )


def _segment(data: bytes) -> object:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, SEGMENT).write_bytes(data)
        log = StreamLog(folder, COLUMNS)
        return [entry.rows for entry in log.read()]


@cache
def _segment_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with StreamLog(folder, COLUMNS) as log:
            log.append(pl.DataFrame({"time": [1, 2], "depth": [0.5, 0.6]}), producer="gauge", sequence=1)
            log.heartbeat(3)
        return Path(folder, SEGMENT).read_bytes()


SEGMENT = f"{0:020d}-{0:012d}.segment"


def _network(suffix: str) -> Callable[[bytes], object]:
    def target(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"network{suffix}")
            path.write_bytes(data)
            return import_network(path, "fuzzed")

    return target


KINDS = (FrameKind({"depth": Field(CType.SHORT, -100, 100)}, 6),)


def _frames(data: bytes) -> object:
    reader = FrameReader(KINDS, 2, 0xCAFE)
    found = reader.feed(data)
    reader.close()
    return found


def targets() -> Mapping[str, Target]:
    """All targets by name."""
    return {
        "sql": Target(
            _sql,
            (
                b"SELECT id, AVG(v) AS m FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY id HAVING COUNT(*) > 1;",
                b"CREATE STREAM s (x INT, v FLOAT) PUSHED FROM 'mqtt://h/t/{id}' DELAY 2 SECONDS KEY (id, time);",
                b"CREATE QUERY q STARTING AT BEGINNING AS SELECT CASE WHEN x IS NULL THEN 1 ELSE -x END FROM s",
            ),
        ),
        "json": Target(
            _payload(Format.JSON),
            (b'{"time": 1767225600, "id": 1, "x": 3, "v": 0.5, "name": "a"}', b"[1, 2]"),
        ),
        "senml": Target(
            _payload(Format.SENML),
            (
                b'[{"bn": "urn:1:", "bt": 1767225600, "n": "v", "u": "Cel", "v": 0.5}, {"n": "x", "v": 3, "t": 1}]',
            ),
        ),
        "csv": Target(_payload(Format.CSV), (b"2026-01-01T00:00:00Z,1,3,0.5,a\n", b"1767225600,1,,,\n")),
        "segment": Target(_segment, (_segment_bytes(),)),
        "nss": Target(_network(".nss"), (b"0:1:0.1\n1:0:0.2\n",)),
        "xml": Target(
            _network(".xml"),
            (
                b'<network-topology><radio-links><radio-link source="0" dest="1" energy="1"/></radio-links></network-topology>',
            ),
        ),
        "serial": Target(
            _frames, (b"\x70\x00\x00\x00\x01\x00\x07\x00\xff\x1a\x2b", b"\x70\x00\x00\x00\x02\xff\x00\x00")
        ),
    }
