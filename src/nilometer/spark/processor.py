"""The work of a stateful stage in one bucket: the flow of its fragment, and its state between micro-batches.

The state of a bucket is that of its Logics: panes. Small panes are stored together in one value. Each large
pane is an entry of a map, written only when it has changed (design.md principle 8). A bucket's flow stays in
the worker process from one micro-batch to the next. Each write of the state leaves a random mark in it, and a
flow is used again only if it has the mark of the state. So a micro-batch that is retried, here or elsewhere,
always begins with the committed state.

Packets addressed to a fragment of another stage pass through.
"""

from __future__ import annotations

import json
import secrets
import struct
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from nilometer.dataflow.dead_rows import lines_of
from nilometer.log import failpoints
from nilometer.operators.frames import empty
from nilometer.operators.logic import Output, no_evaluations
from nilometer.spark.counts import Counts
from nilometer.spark.faults import carried
from nilometer.spark.job import Job, digest_of, job_of
from nilometer.spark.layout import BucketFlow, Clock, Fragment, columns_of, divide, gathered
from nilometer.spark.layout.fragments import received
from nilometer.spark.layout.work import since
from nilometer.spark.packing import ANSWER, REPORT, Packet, in_order, target_of, unpack

pass_by = failpoints.from_environment("stage")
"""Fails where a test asks for it: before_state, after_state (NILOMETER_FAILPOINT)."""

LARGE = 65_536
"""A pane of this many bytes is stored by itself."""

STATE_FORMAT = 6
"""Raised when the variables of a stage (stage.py) or their contents change their format; checkpoints of
another format are rebuilt.
"""

Panes = dict[str, bytes]


@dataclass
class Bucket:
    """A bucket's flow in a worker. `mark` is that of the state last written; `written` are its panes then. `used` is the
    moment of its last step, in seconds."""

    flow: BucketFlow
    mark: str = ""
    written: Panes = field(default_factory=dict)
    used: float = 0.0


BucketPlace = tuple[str, int, int]
"""A job's digest, a fragment's number and one of its buckets."""

_BUCKETS: OrderedDict[BucketPlace, Bucket] = OrderedDict()
_REMEMBERED = 512
_UNUSED = 600.0
"""After so many seconds without a step, a bucket is forgotten: its query has ended, or other processes run it."""


class States(Protocol):
    """Access to Spark's state of the current bucket: the value (mark, small panes), and the large panes by
    name.
    """

    def get(self) -> tuple[str, bytes] | None:
        """The value; None in the bucket's first micro-batch."""

    def update(self, mark: str, small: bytes) -> None:
        """Replace the value."""

    def large(self) -> Panes:
        """All large panes."""

    def put(self, name: str, pane: bytes) -> None:
        """Write a large pane."""

    def remove(self, name: str) -> None:
        """Delete a large pane."""


def process(
    text: str, stage: int, key: int, packed: list[bytes], states: States, *, last: bool = False
) -> Iterator[tuple[int, bytes]]:
    """One bucket's part of a micro-batch: the packets of a key in, keys and packets out. `last`: no other follows."""
    job = job_of(text)
    target = target_of(packed[0])
    if target < 0 or job.layout.fragments[target].stage != stage:
        for data in packed:
            yield key, data
        return
    with carried():
        for packet in _step(digest_of(text), job, [unpack(data) for data in packed], states, last):
            yield 0 if packet.target == ANSWER else job.keys[packet.target, packet.bucket], packet.pack()


def _step(digest: str, job: Job, packets: list[Packet], states: States, last: bool) -> Iterator[Packet]:
    fragment = job.layout.fragments[packets[0].target]
    pass_by("before_state")
    place = (digest, fragment.number, packets[0].bucket)
    bucket, first = _bucket(place, job, fragment, states)
    clock = packets[0].clock
    shed_before, work_before = bucket.flow.shed, bucket.flow.work
    output = bucket.flow.step(clock, _inputs(fragment, packets), first, {}, skips=job.skips)
    _write(bucket, states)
    if not last:
        _remember(place, bucket)
    pass_by("after_state")
    held = sum(map(len, bucket.written.values()))
    counts = Counts(
        state_bytes=held,
        state_panes=len(bucket.written),
        shed_of={stream: count - shed_before.get(stream, 0) for stream, count in bucket.flow.shed.items()},
        errors=sum(letter.count for letter in bucket.flow.letters),
        letters=lines_of(bucket.flow.letters),
        work=since(work_before, bucket.flow.work),
        held_of={str(fragment.number): held},
    )
    yield Packet(-1, REPORT, 0, (), clock, counts=counts)
    yield from _packets(job, fragment, packets[0].bucket, clock, output)


# ---- state -----------------------------------------------------------------------------------------------------------


def _bucket(place: BucketPlace, job: Job, fragment: Fragment, states: States) -> tuple[Bucket, bool]:
    """The bucket in its committed state, and whether this is its first micro-batch.

    It is stored in memory again only after its new state is written: a step that fails half-way leaves a flow
    with the mark of the state before it, which must not be used.
    """
    found = states.get()
    kept = _BUCKETS.pop(place, None)
    if found is not None and kept is not None and kept.mark == found[0]:
        return kept, False
    bucket = Bucket(BucketFlow(fragment, place[2], job.layout, job.extents))
    if found is not None:
        bucket.mark = found[0]
        panes = _split(found[1]) | states.large()
        bucket.flow.restore(_nested(panes))
        bucket.written = panes
    return bucket, found is None


def _remember(place: BucketPlace, bucket: Bucket) -> None:
    _BUCKETS[place] = bucket
    bucket.used = time.monotonic()
    while len(_BUCKETS) > _REMEMBERED or next(iter(_BUCKETS.values())).used < bucket.used - _UNUSED:
        _BUCKETS.popitem(last=False)


def _write(bucket: Bucket, states: States) -> None:
    """Write the panes that have changed."""
    panes = _flat(bucket.flow.snapshot())
    small: Panes = {}
    for name, pane in panes.items():
        if len(pane) < LARGE:
            small[name] = pane
        elif bucket.written.get(name) is not pane and bucket.written.get(name) != pane:
            states.put(name, pane)
    for name, pane in bucket.written.items():
        if len(pane) >= LARGE and len(panes.get(name, b"")) < LARGE:
            states.remove(name)
    bucket.mark = secrets.token_hex(8)
    bucket.written = panes
    states.update(bucket.mark, _joined(small))


_LENGTH = struct.Struct("<I")
_BETWEEN = "\x1f"


def _flat(panes: Mapping[str, Mapping[str, bytes]]) -> Panes:
    return {f"{part}{_BETWEEN}{name}": pane for part, named in panes.items() for name, pane in named.items()}


def _nested(panes: Panes) -> dict[str, dict[str, bytes]]:
    # A part without panes leaves no trace in the state, but is expected all the same.
    found: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for name, pane in panes.items():
        part, _, rest = name.partition(_BETWEEN)
        found[part][rest] = pane
    return found


def _joined(panes: Panes) -> bytes:
    """Panes as one value: their names and lengths, then their bytes."""
    head = json.dumps([[name, len(pane)] for name, pane in panes.items()]).encode()
    return b"".join((_LENGTH.pack(len(head)), head, *panes.values()))


def _split(data: bytes) -> Panes:
    (length,) = _LENGTH.unpack_from(data)
    at = _LENGTH.size + length
    panes: Panes = {}
    for name, size in json.loads(data[_LENGTH.size : at]):
        panes[name] = data[at : at + size]
        at += size
    return panes


# ---- packets ---------------------------------------------------------------------------------------------------------


def _inputs(fragment: Fragment, packets: list[Packet]) -> list[Output]:
    """The input of each of the fragment's exchanges."""
    inputs = []
    ordered = in_order(packets)
    for source, exchange in zip(fragment.inputs, received(fragment.plan), strict=True):
        columns = columns_of(exchange.input)
        outputs = [
            Output(
                packet.rows if packet.rows is not None else empty(columns),
                packet.evaluations if packet.evaluations is not None else no_evaluations(),
            )
            for packet in ordered
            if packet.source == source
        ]
        inputs.append(gathered(outputs, columns))
    return inputs


def _packets(job: Job, fragment: Fragment, bucket: int, clock: Clock, output: Output) -> Iterator[Packet]:
    """The packets for a step's output: one for each bucket of the next stage, with rows or without."""
    order = (bucket,)
    if fragment.target is None:
        if output.rows.height:
            yield Packet(fragment.number, ANSWER, 0, order, clock, output.rows)
        return
    target = job.layout.fragments[fragment.target]
    parts = dict(divide(output.rows, fragment.keys, target.buckets, fragment.copying))
    for number in range(target.buckets):
        yield Packet(
            fragment.number, target.number, number, order, clock, parts.get(number), output.evaluations
        )
