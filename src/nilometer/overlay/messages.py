"""The messages between peers, and their bytes: a JSON header and, for rows, an Arrow IPC stream.

The law: `decode(encode(message)) == message`, and bytes that no `encode` has written are a WireError. A message is a
frozen dataclass; `rows`, if it has them, is a Polars frame and takes no part in comparisons.

>>> decode(encode(Find(7, contact("roof", "127.0.0.1:7001"), 1))).key
7
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import polars as pl

from nilometer.errors import ResourceError
from nilometer.operators import frames
from nilometer.overlay.ring import Contact

MOST_BYTES = 16 << 20
"""The longest message."""
_LENGTH = struct.Struct("!I")


class WireError(ResourceError):
    """Bytes that are no message of ours."""


@dataclass(frozen=True)
class Message:
    """The base of all messages."""

    kinds: ClassVar[dict[str, type[Message]]] = {}

    def __init_subclass__(cls) -> None:
        Message.kinds[cls.__name__] = cls


# ---- the ring (chord.py) ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Find(Message):
    """Who owns the key? Passed on from finger to finger; the owner answers the origin. `hops` so far; `last`:
    the sender takes the receiver for the owner."""

    key: int
    origin: Contact
    token: int
    hops: int = 0
    last: bool = False


@dataclass(frozen=True)
class Found(Message):
    """The owner of a key, the beginning of its arc, and the hops of the question to it."""

    key: int
    token: int
    owner: Contact
    after: int
    hops: int


@dataclass(frozen=True)
class Ask(Message):
    """Who are your neighbours? Whoever answers is alive."""

    token: int


@dataclass(frozen=True)
class Neighbours(Message):
    """The answer to Ask."""

    token: int
    predecessor: Contact | None
    successors: tuple[Contact, ...]


@dataclass(frozen=True)
class Notify(Message):
    """The sender takes itself for the receiver's predecessor (Zave's rectify)."""


@dataclass(frozen=True)
class Leaving(Message):
    """The sender goes; its neighbours close the gap."""

    predecessor: Contact | None
    successors: tuple[Contact, ...]


# ---- questions (dissemination.py) ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notice(Message):
    """Dmsg (section 3.1): something that all peers shall know. The receiver passes it on within (itself, limit)."""

    notice: dict[str, Any]
    limit: int
    depth: int = 1


@dataclass(frozen=True)
class Gossip(Message):
    """Gmsg (section 4.1): the same, with the peers that were tried already (L_d)."""

    notice: dict[str, Any]
    tried: tuple[int, ...]


@dataclass(frozen=True)
class Pull(Message):
    """A joiner asks its successor for all notices, before it takes rows."""


@dataclass(frozen=True)
class Notices(Message):
    """The answer to Pull."""

    notices: tuple[dict[str, Any], ...]


# ---- rows (indexing.py, joining.py) ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Put(Message):
    """Rows for an input of a join. `copy`: for safe keeping, at a successor of the owner. `again`: the last owner of their
    keys has had them, or would have; that they are old does not make them overdue."""

    index: str
    rows: pl.DataFrame = field(compare=False)
    copy: bool = False
    again: bool = False


@dataclass(frozen=True)
class Moved(Message):
    """The receiver puts keys to one that does not own them: it has to ask again."""

    key: int


@dataclass(frozen=True)
class Results(Message):
    """Rows of an answer, for the peer that asked; each once by its positions."""

    query: str
    rows: pl.DataFrame = field(compare=False)


@dataclass(frozen=True)
class Subscribe(Message):
    """Send the rows of your stream from this position on, as soon as there are any (-1: from now on). It is said again
    and again, as long as the rows are wanted. With a `selection` (selections.py) only the rows that it lets through are,
    and `name` is what the asker calls them."""

    stream: str
    position: int
    name: str = ""
    selection: str = ""


@dataclass(frozen=True)
class Shipped(Message):
    """Rows of a stream, or of a selection of it, by the name that the asker gave: those from the position `first` up to,
    but not including, `upto` of the home's log, which begins at `begins`. After them, none is earlier than `tick` (0: no
    promise). `log` is the identity of the home's data directory."""

    stream: str
    log: str
    first: int
    upto: int
    begins: int
    tick: int
    rows: pl.DataFrame = field(compare=False)


@dataclass(frozen=True)
class Heartbeat(Message):
    """How far each stream has come, and what each peer says of itself, as far as the sender knows (streams.py,
    loads.py)."""

    watermarks: dict[str, list[int]]
    loads: dict[str, Any] = field(default_factory=dict)


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    values = {one.name: _plain(getattr(message, one.name)) for one in fields(message) if one.name != "rows"}
    header = json.dumps([type(message).__name__, values], separators=(",", ":")).encode()
    rows = getattr(message, "rows", None)
    return _LENGTH.pack(len(header)) + header + (b"" if rows is None else frames.to_bytes(rows))


def decode(data: bytes) -> Message:
    """The message of these bytes. Anything else is a WireError."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        if length > len(data) - _LENGTH.size:
            raise ValueError("a header that is cut off")
        name, values = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        kind = Message.kinds[name]
        wanted = {one.name: str(one.type) for one in fields(kind)}
        made = {key: _typed(wanted[key], value) for key, value in values.items()}
        if "rows" in wanted:
            made["rows"] = frames.from_bytes(data[_LENGTH.size + length :])
        return kind(**made)
    except Exception as error:
        raise WireError(f"bytes that are no message of a peer: {type(error).__name__}") from None


def _plain(value: Any) -> Any:
    match value:
        case Contact():
            return [value.id, value.name, value.address]
        case tuple():
            return [_plain(one) for one in value]
    return value


def _typed(kind: str, value: Any) -> Any:
    """The value that a field of this type had before `_plain`."""
    match kind:
        case "Contact" | "Contact | None":
            return None if value is None and kind != "Contact" else _contact(value)
        case "tuple[Contact, ...]":
            return tuple(map(_contact, value))
        case "tuple[int, ...]":
            return tuple(_checked(one, int) for one in value)
        case "tuple[dict[str, Any], ...]":
            return tuple(_checked(one, dict) for one in value)
        case "dict[str, Any]" | "dict[str, list[int]]":
            return _checked(value, dict)
        case "int":
            return _checked(value, int)
        case "str":
            return _checked(value, str)
        case "bool":
            return _checked(value, bool)
    raise WireError(f"a field of type {kind}")


def _contact(value: Any) -> Contact:
    place, name, address = value
    return Contact(_checked(place, int), _checked(name, str), _checked(address, str))


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise WireError(f"{value!r:.40} where a {kind.__name__} belongs")
    return value
