"""Reads the last note and every change of demand from a log, for a process that does not write the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nilometer.log.annex import annex_from_bytes
from nilometer.log.files import Files
from nilometer.log.record import RecordKind
from nilometer.log.segment import OnDamage, look, refuse, segment_ids


def last_note(files: Files, on_damage: OnDamage = refuse) -> dict[str, Any] | None:
    """The note written last; None if there never was one."""
    for segment in reversed(segment_ids(files)):
        try:
            _, contents = look(files, segment, on_damage=on_damage)
        except FileNotFoundError:  # retention was faster
            continue
        records = list(contents)
        for header, run in reversed(records):
            if header.annex_bytes:
                note = annex_from_bytes(header.annex(run.buffer, run.base))[1]
                if note is not None:
                    return note
        if len(records) > 1:
            # A segment begins with the last note before it. This one does not, so there is none.
            return None
    return None


def demands(files: Files, on_damage: OnDamage = refuse) -> Iterator[dict[str, Any]]:
    """Every change of demand, the oldest first."""
    for segment in segment_ids(files):
        try:
            _, contents = look(files, segment, on_damage=on_damage)
        except FileNotFoundError:  # retention was faster
            continue
        for header, run in contents:
            if header.kind == RecordKind.DEMAND:
                yield json.loads(bytes(header.body(run.buffer, run.base)))
