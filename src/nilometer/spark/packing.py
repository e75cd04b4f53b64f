"""Packets between the stages, each one binary value for Spark.

A packet names the fragment its rows come from, and the fragment and bucket they go to. Spark sees only `key`,
by which it groups, and bytes. Rows are Arrow IPC, so that neither Spark nor Python ever handles a single row.
Every packet carries the micro-batch's clock: a bucket that gets no rows still learns how far event time has
come (design.md, "Stages on Spark").

    key      an int, chosen so that Spark's own hash spreads buckets evenly over its partitions
    packet   length of the head, head (JSON), rows (Arrow IPC), evaluations (Arrow IPC; those of time windows: their ticks)
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from nilometer.operators.frames import evaluations as evaluations_at
from nilometer.operators.frames import from_bytes, to_bytes
from nilometer.operators.logic import EVALUATION, TICK
from nilometer.spark.counts import Counts
from nilometer.spark.layout import Clock, Layout

ANSWER = -1
"""The target of rows that leave the last stage."""
REPORT = -2
"""The target of counters."""

_LENGTHS = struct.Struct("<III")


@dataclass(frozen=True)
class Packet:
    """Rows of fragment `source` on their way to a bucket of fragment `target`. `order` sorts the packets of
    one source. A report contains the counters; the report of the first task also says up to where the
    micro-batch reads.
    """

    source: int
    target: int
    bucket: int
    order: tuple[int, ...]
    clock: Clock
    rows: pl.DataFrame | None = None
    evaluations: pl.DataFrame | None = None
    counts: Counts | None = None
    end: Mapping[str, Any] | None = None

    def pack(self) -> bytes:
        """The bytes that Spark carries."""
        head: dict[str, Any] = {
            "way": [self.source, self.target, self.bucket],
            "order": list(self.order),
            "clock": [self.clock.watermark, dict(self.clock.first_ticks)],
        }
        if self.counts is not None:
            head["counts"] = self.counts.as_json()
        if self.end is not None:
            head["end"] = dict(self.end)
        written = json.dumps(head, separators=(",", ":")).encode()
        rows = b"" if self.rows is None else to_bytes(self.rows)
        evaluations = b"" if self.evaluations is None else _packed_evaluations(self.evaluations)
        lengths = _LENGTHS.pack(len(written), len(rows), len(evaluations))
        return b"".join((lengths, written, rows, evaluations))


def unpack(data: bytes) -> Packet:
    """The inverse of `pack`."""
    head_length, rows_length, evaluations_length = _LENGTHS.unpack_from(data)
    start = _LENGTHS.size
    head = json.loads(data[start : start + head_length])
    start += head_length
    source, target, bucket = head["way"]
    watermark, first_ticks = head["clock"]
    view = memoryview(data)
    rows = from_bytes(bytes(view[start : start + rows_length])) if rows_length else None
    start += rows_length
    evaluations = (
        _unpacked_evaluations(data[start : start + evaluations_length]) if evaluations_length else None
    )
    return Packet(
        source,
        target,
        bucket,
        tuple(head["order"]),
        Clock(watermark, first_ticks),
        rows,
        evaluations,
        Counts.of_json(head["counts"]) if "counts" in head else None,
        head.get("end"),
    )


_TICKS, _FRAME = b"t", b"f"


def _packed_evaluations(found: pl.DataFrame) -> bytes:
    """Those of a time window have their ticks as numbers. All buckets are told all of these, so they are packed tightly."""
    number, tick = found.get_column(EVALUATION), found.get_column(TICK)
    if number.equals(tick):
        return _TICKS + number.to_numpy().astype("<i8").tobytes()
    return _FRAME + to_bytes(found)


def _unpacked_evaluations(data: bytes) -> pl.DataFrame:
    if data[:1] == _TICKS:
        return evaluations_at(pl.Series(np.frombuffer(data, dtype="<i8", offset=1)))
    return from_bytes(data[1:])


def target_of(data: bytes) -> int:
    """The target of a packet, without its rows."""
    return int(json.loads(data[_LENGTHS.size : _LENGTHS.size + _LENGTHS.unpack_from(data)[0]])["way"][1])


def in_order(packets: Iterable[Packet]) -> list[Packet]:
    """The packets in a fixed order. A shuffle returns them in any order, and Logics must not notice."""
    return sorted(packets, key=lambda packet: (packet.source, packet.order))


# ---- addresses -------------------------------------------------------------------------------------------------------

Address = tuple[int, int]
"""A fragment's number and one of its buckets."""


def addresses(layout: Layout) -> list[Address]:
    """Every bucket of every fragment that runs in a stateful stage."""
    return [
        (fragment.number, bucket)
        for fragment in layout.fragments
        if fragment.stage > 0
        for bucket in range(fragment.buckets)
    ]


def keys_of(layout: Layout, partitions: int) -> dict[Address, int]:
    """Spark's grouping key of every address. Bucket b goes to partition b modulo `partitions`, so that the
    partitions' numbers of buckets differ by at most one. Reports have a key of their own.
    """
    keys: dict[Address, int] = {}
    following = 0
    for place, (fragment, bucket) in enumerate([*addresses(layout), (REPORT, 0)]):
        wanted = place if fragment == REPORT else bucket
        while spark_hash(following) % partitions != wanted % partitions:
            following += 1
        keys[fragment, bucket] = following
        following += 1
    return keys


def spark_hash(value: int) -> int:
    """Spark's `hash` of an int, by which it partitions: Murmur3 with seed 42.

    >>> [spark_hash(value) for value in (0, 1, 2)]
    [933211791, -559580957, 1765031574]
    """
    bits = 0xFFFFFFFF
    mixed = value & bits
    mixed = mixed * 0xCC9E2D51 & bits
    mixed = (mixed << 15 | mixed >> 17) & bits
    mixed = mixed * 0x1B873593 & bits
    hashed = 42 ^ mixed
    hashed = (hashed << 13 | hashed >> 19) & bits
    hashed = (hashed * 5 + 0xE6546B64) & bits
    hashed ^= 4
    hashed ^= hashed >> 16
    hashed = hashed * 0x85EBCA6B & bits
    hashed ^= hashed >> 13
    hashed = hashed * 0xC2B2AE35 & bits
    hashed ^= hashed >> 16
    return hashed - (1 << 32) if hashed >> 31 else hashed
