"""The annex of a record: the producers of its rows, and a note that is written atomically with it.

A note is a JSON object of the writer's own, such as the stream's books; the last note written is the log's.
Without a note, the annex is the list of marks alone, as in logs from before there were notes.

>>> annex_to_bytes([("mote-7", 12)])
b'[["mote-7",12]]'
>>> annex_from_bytes(annex_to_bytes([("mote-7", 12)], {"received": 3}))
([('mote-7', 12)], {'received': 3})
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nilometer.errors import DataError

Mark = tuple[str, int]
"""A producer and its sequence."""

Note = Mapping[str, Any]
"""A JSON object."""


def annex_to_bytes(marks: Sequence[Mark] = (), note: Note | None = None) -> bytes:
    """The bytes after a record's body."""
    if note is not None:
        return json.dumps({"marks": marks, "note": note}, separators=(",", ":")).encode()
    return json.dumps(marks, separators=(",", ":")).encode() if marks else b""


def annex_from_bytes(data: bytes) -> tuple[list[Mark], dict[str, Any] | None]:
    """The inverse of `annex_to_bytes`. Refuses what no writer of ours has written."""
    try:
        found = json.loads(data) if data else []
        marks, note = (found["marks"], found["note"]) if isinstance(found, dict) else (found, None)
        return [(producer, sequence) for producer, sequence in marks], note
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError("a record of a log has notes that cannot be read") from None
