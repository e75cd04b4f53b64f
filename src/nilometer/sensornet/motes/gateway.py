"""The gateway's end of the sink's serial line: frames to rows, and the operators that wait for it (AGGR_EVAL and above)."""

from __future__ import annotations

import binascii
import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from nilometer.catalog.network import NodeId
from nilometer.errors import DataError, InternalError, UnsupportedError
from nilometer.plan import physical
from nilometer.plan.logical import AggregateItem
from nilometer.plan.scalar import evaluate
from nilometer.sensornet.motes.fields import Fields, is_deferred
from nilometer.sensornet.motes.site import Motes
from nilometer.sensornet.motes.values import MEDIUM, CType
from nilometer.types import Kind

FRAME, FRAME_END = 0x7E, 0xFF
FORMATS = {CType.BYTE: "B", CType.SHORT: "h", CType.LONG: "i", CType.NUMBER: "I", CType.FLOAT: "f"}


def check_finishing(motes: Motes) -> None:
    """Refuse what is left to the gateway and is more than this end of the line does: AGGR_EVAL, and what only rearranges rows."""
    deliver = motes.placement.fragments[0].root
    node = deliver.inputs[0]
    while is_deferred(node) or not (node is motes.delivered or isinstance(node, physical.Exchange)):
        elided = isinstance(node, physical.TimeWindow) and node.elided
        if not (isinstance(node, _FINISHED) or elided):
            raise UnsupportedError(
                f"{node.operator} is left to the gateway",
                hint="nilometer plan says why it cannot run on motes",
            )
        node = node.inputs[0]


_FINISHED = (
    physical.AggregateEvaluate,
    physical.Project,
    physical.Select,
    physical.Rename,
    physical.Exchange,
)


def answers(
    motes: Motes, serial: bytes, start: int, names: Mapping[int, NodeId] | None = None
) -> list[tuple[Any, ...]]:
    """The rows of the answer, with their tick in front where the query delivers it. `start` is the time of the first
    evaluation, in microseconds. `names` are those of nodes: what is a STRING on a mote is a node's number."""
    check_finishing(motes)
    deliver = motes.placement.fragments[0].root
    assert isinstance(deliver, physical.Deliver)
    ordered = 0 in motes.ordered
    fields = motes.typing.stored(motes.delivered, ordered)
    derived = motes.typing.derived(motes.delivered)
    interval = motes.typing.interval
    sent = motes.delivered
    while is_deferred(sent):
        sent = sent.inputs[0]
    named = [column.name for column in sent.schema if column.type.kind is Kind.STRING]
    given = []
    for evaluation, row in _rows(serial, fields, start, interval):
        tick = start + evaluation * interval
        row |= {name: (names or {}).get(row[name], row[name]) for name in named}
        row |= {name: tick - distance * interval for name, distance in derived.items()}
        for finished in _finished(deliver.input, motes.delivered, row, tick):
            values = tuple(finished[column.name] for column in deliver.schema)
            given.append((tick, *values) if deliver.tick else values)
    return given


def _rows(serial: bytes, fields: Fields, start: int, interval: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of its evaluation and the columns of every tuple in the frames."""
    formats = (f"{MEDIUM}s" if field.narrow else FORMATS[field.ctype] for field in fields.values())
    layout = struct.Struct("<B" + "".join(formats))
    at = 0
    while at < len(serial):
        if serial[at] != FRAME:
            raise _garbled(f"byte {at} is {serial[at]:#04x}")
        first = int.from_bytes(serial[at + 1 : at + 5], "little")
        begin = end = at + 5
        while end < len(serial) and serial[end] != FRAME_END:
            end += layout.size
        if end + 3 > len(serial):
            return  # the run ended within a frame
        if binascii.crc_hqx(serial[at + 1 : end + 1], 0) != int.from_bytes(serial[end + 1 : end + 3], "big"):
            raise _garbled(f"the frame at byte {at} has a wrong checksum")
        for epoch, *values in layout.iter_unpack(serial[begin:end]):
            yield first + epoch, _unpacked(values, fields, start, interval)
        at = end + 3


def _garbled(detail: str) -> DataError:
    return DataError(
        "the sink's serial line is garbled", detail=detail, hint="this should not happen: report it"
    )


def _unpacked(values: list[Any], fields: Fields, start: int, interval: int) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for (name, field), value in zip(fields.items(), values, strict=True):
        if field.narrow:
            value = int.from_bytes(value, "little", signed=True)
        null = field.nullable and (value != value or value == field.null_value)
        row[name] = None if null else start + value * interval if field.is_time else value
    return row


def _finished(
    node: physical.Node, delivered: physical.Node, row: dict[str, Any], tick: int
) -> Iterator[dict[str, Any]]:
    """A delivered row through the operators that motes leave to the gateway; none if one of them drops it."""
    if not is_deferred(node) and (node is delivered or isinstance(node, physical.Exchange)):
        yield row
        return
    for below in _finished(node.inputs[0], delivered, row, tick):
        match node:
            case physical.AggregateEvaluate(keys=keys, items=items):
                yield {key.name: below[key.name] for key in keys} | {
                    i.name: _evaluated(i, below) for i in items
                }
            case physical.Project(items=projections):
                yield {item.name: evaluate(item.expression, below, tick) for item in projections}
            case physical.Select(predicate=predicate):
                if evaluate(predicate, below, tick) is True:
                    yield below
            case physical.Rename(alias=alias):
                yield {f"{alias}.{name}": value for name, value in below.items()}
            case physical.Exchange() | physical.TimeWindow(elided=True):
                yield below
            case _:
                raise InternalError(f"{node.operator} should have been refused")


def _evaluated(item: AggregateItem, row: dict[str, Any]) -> Any:
    """AGGR_EVAL of one aggregate: states of motes are whole numbers wherever the argument is INT, so this is exact."""
    name, function = item.name, item.aggregate.function
    match function:
        case "count" | "sum" | "min" | "max":
            return row[f"{name}#{function}"]
        case "avg":
            count = row[f"{name}#count"]
            return row[f"{name}#sum"] / count if count else None
    count, total, squares = row[f"{name}#count"], row[f"{name}#sum"], row[f"{name}#squares"]
    if count < 2:
        return None
    variance = (count * squares - total * total) / (count * (count - 1))
    return math.sqrt(variance) if function == "stdev" else variance
