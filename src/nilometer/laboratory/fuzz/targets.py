"""The parsers as targets: a function of bytes each, and a small corpus to begin with.

The law: a target returns, or raises a NilometerError. Anything else is a crash.
"""

from __future__ import annotations

import contextlib
import hmac
import io
import socket
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.catalog.network_files import import_network
from nilometer.dataflow.ledger import QueryLedger
from nilometer.errors import DataError
from nilometer.ingest.payloads import Decoder, Format, Messages
from nilometer.ingest.payloads.arrow_bodies import read_arrow
from nilometer.ingest.payloads.summaries import read_summaries
from nilometer.language import parse
from nilometer.live.owner.control_log import FILE as CONTROL
from nilometer.live.owner.control_log import ControlLog, Record, readable
from nilometer.live.owner.wire import WireError, error_of, receive
from nilometer.live.state_files import PLACE as STATES
from nilometer.live.state_files import PREFIX as CHECKPOINT
from nilometer.live.state_files import SavedState, StateFiles
from nilometer.log import Offset, StreamLog
from nilometer.log.local_files import LocalFiles
from nilometer.log.record import Encoder, RecordKind
from nilometer.log.results.shared_log import LEFT, ColumnEra, Line, RecordPlace, SharedLog, index_of_files
from nilometer.log.results.shared_log import PLACE as COMMITS
from nilometer.overlay.delivery import Packet
from nilometer.overlay.messages import Find, Heartbeat, Notice, Put, decode, encode
from nilometer.overlay.messages import WireError as PeerWireError
from nilometer.overlay.ring import contact
from nilometer.overlay.wire import Wire as PeerWire
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


def _record(data: bytes) -> object:
    """A record whose frame and checksum are right, and whose body, annex and header are not."""
    cut = int.from_bytes(data[:2], "little") % (len(data) + 1)
    kind = RecordKind(data[2] % len(RecordKind) + 1 if len(data) > 2 else 1)
    rows = data[3] if len(data) > 3 else 0
    made, _ = Encoder().encode(kind, position=2, number=2, rows=rows, body=data[4:cut], annex=data[cut:])
    return _segment(_segment_bytes()[: -len(_segment_bytes()) % 8 or None] + bytes(made))


def _commits(data: bytes) -> object:
    """The commit log of all standing queries, as a segment."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / COMMITS
        place.mkdir(parents=True)
        (place / SEGMENT).write_bytes(data)
        index = index_of_files(LocalFiles(place))
        return {name: index.place(name) for name in index.places}


@cache
def _commit_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        log = SharedLog(Path(folder))
        era = ColumnEra(0, 1, {"x": pl.Int64()}, {})
        place = RecordPlace("q", "v-1", 0, 0, LEFT, {"s": Offset()}, eras=(era,))
        frame = pl.DataFrame({"x": [1, 2]})
        log.commit({1: {"s": Offset(3, 4)}}, [Line(place, (frame,), 1, QueryLedger(), about=True)])
        log.close()
        return (Path(folder) / COMMITS / SEGMENT).read_bytes()


def _state(data: bytes) -> object:
    """A file of saved states."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / STATES
        place.mkdir(parents=True)
        (place / f"{CHECKPOINT}{1:012d}").write_bytes(data)
        states = StateFiles(Path(folder))
        return [states.load(name) for name in states.numbers()], states.damages()


@cache
def _state_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        state = SavedState("v-1", {"s": Offset()}, {"s": Offset(3, 4)}, 1, {"window": {"rows": b"abc"}})
        StateFiles(Path(folder)).save({"q": state}, ["q"])
        return (Path(folder) / STATES / f"{CHECKPOINT}{1:012d}").read_bytes()


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


def _arrow(data: bytes) -> object:
    """An Arrow body of HTTP. Whatever the library says of it, it is a dead letter."""
    stream = _decoder(Format.AUTO).stream
    return read_arrow(data, stream, pl.DataFrame({column.name: [] for column in stream.columns}), "fuzzed")


@cache
def _arrow_bytes() -> bytes:
    made = io.BytesIO()
    pl.DataFrame({"time": [1767225600], "id": [1], "x": [3], "v": [0.5], "name": ["a"]}).write_ipc_stream(
        made
    )
    return made.getvalue()


def _control(data: bytes) -> object:
    """The control log: lines as they are, and as lines with a right checksum."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ".nilometer" / CONTROL
        path.parent.mkdir()
        body = data.split(b"\n")[0]
        for written in (data, f"{zlib.crc32(body):08x} ".encode() + body + b"\n" + data):
            path.write_bytes(written)
            with contextlib.suppress(DataError):
                log = ControlLog(Path(folder))
                log.append(Record("DROP", "QUERY", "q"))
        return readable(Path(folder))


def _summary(data: bytes) -> object:
    return read_summaries(
        [(data, "7", "a/7"), (data, None, "a"), (SUMMARY, "7", "a/7")], _decoder(Format.JSON).stream
    )


def _wire(data: bytes) -> object:
    """A frame of the local socket: as it is, and with a right prefix."""
    found = []
    for sent in (data, struct.pack("!4sHII", b"NILO", 1, len(data), 0) + data):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(sent[:60_000])
            ours.shutdown(socket.SHUT_WR)
            theirs.settimeout(5)
            with contextlib.suppress(WireError):
                frame = receive(theirs)
                found.append(frame and error_of(frame.header))
    return found


RING_KEY = b"the key of a ring that is fuzzed"


def _peer(data: bytes) -> object:
    """A frame of a peer: as it is, under the right key, and as the message of a right packet."""
    wire, sealed = PeerWire(RING_KEY), hmac.digest(RING_KEY, data, "sha256") + data
    found: list[object] = [wire.read(0, data), wire.read(0, sealed)]
    with contextlib.suppress(PeerWireError):
        found.append(decode(data))
    if wire.refused.total() != found[:2].count(None):
        raise AssertionError("a frame is refused and not counted")
    return found


def _peer_bytes() -> Iterator[bytes]:
    """Messages, and the bodies of frames with them."""
    me = contact("roof", "127.0.0.1:7001")
    for message in (
        Find(7, me, 1, 2, True),
        Notice({"id": "q", "kind": "query", "streams": ["a"]}, 2**64 - 1),
        Heartbeat({"x": [1, 2, 3, 4, 5]}),
        Put("=x\na\nx", pl.DataFrame({"@key": [1, 2], "@position": [0, 1], "x": [None, "a"]})),
    ):
        yield encode(message)
        yield PeerWire(RING_KEY).frame(0, Packet(me, 5, 1, 9, message, (1, 2)))[4 + 32 :]


SUMMARY = (
    b'{"from": "2026-01-01T00:00:00Z", "time": "2026-01-01T00:10:00Z", "of": "02c20468", "count": 10,'
    b' "columns": {"v": {"count": 10, "sum": 412.5, "low": 0.0, "min": 40.0, "max": 42.5}}}'
)


def targets() -> Mapping[str, Target]:
    """All targets by name."""
    return {
        "influx": Target(
            _payload(Format.INFLUX),
            (
                b'air,id=5,name=a\\ b v=0.5,x=3i,name="q \\" r" 1767225600000000000\nair v=t\n# c\n',
                b"a,id=1 x=1u -1\n",
            ),
        ),
        "arrow": Target(_arrow, (_arrow_bytes(),)),
        "summary": Target(_summary, (SUMMARY,)),
        "control": Target(
            _control,
            (
                Record("CREATE", "QUERY", "q", "CREATE QUERY q", offsets={"s": Offset(1, 2)}).line(),
                Record("REPLACE", "QUERY", "q", "x", state="BACKFILL").line().partition(b" ")[2],
            ),
        ),
        "wire": Target(
            _wire, (b'{"error": "DataError", "message": "x", "span": [0, 1], "text": "ab"}', b'{"do": "top"}')
        ),
        "peer": Target(_peer, tuple(_peer_bytes())),
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
        "record": Target(_record, (b"\x10\0\0\2" + bytes(24), b"\xff\0\2\1" + b'{"marks": [], "note": {}}')),
        "commits": Target(_commits, (_commit_bytes(),)),
        "state": Target(_state, (_state_bytes(),)),
        "nss": Target(_network(".nss"), (b"0:1:0.1\n1:0:0.2\n",)),
        "xml": Target(
            _network(".xml"),
            (
                b'<network-topology><radio-links><radio-link source="0" dest="1" energy="1"/></radio-links></network-topology>',
            ),
        ),
        "toml": Target(
            _network(".toml"),
            (
                b"[network]\nsink = 0\nrange = 30\n[[nodes]]\nid = 0\nx = 0\ny = 0\n[[nodes]]\nid = 1\nx = 9.5\ny = 1\n"
                b"[[links]]\nsource = 0\ntarget = 1\nquality = 0.9\n",
            ),
        ),
        "geojson": Target(
            _network(".geojson"),
            (
                b'{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"id": 1},'
                b' "geometry": {"type": "Point", "coordinates": [1, 2]}}]}',
            ),
        ),
        "serial": Target(
            _frames, (b"\x70\x00\x00\x00\x01\x00\x07\x00\xff\x1a\x2b", b"\x70\x00\x00\x00\x02\xff\x00\x00")
        ),
    }
