"""The manifest of a log, a small file: the segments that must be there, and the positions that repair gave up.

    first   the oldest segment that retention has left
    last    the newest segment that was begun
    lost    ranges of entries and positions that are missing, and that `log repair` has put on record
    torn    how many torn tails writers have cut off, and their bytes

The laws: the manifest is replaced atomically and durably, after the segment that it names exists and before
retention deletes one. So if a segment from `first` to `last` is missing, nobody meant to delete it. A log from
before there were manifests has none; then only gaps between its segments are noticed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nilometer.errors import DataError
from nilometer.log.checksum import checksum_of
from nilometer.log.files import Files
from nilometer.log.formats import STAMP, check_format
from nilometer.log.segment import SegmentId

FILE = "manifest"
FORMAT = 1


@dataclass(frozen=True)
class Loss:
    """A range of entries that is missing, from `start` up to but not including `end`, and why."""

    start: SegmentId
    end: SegmentId
    why: str = ""

    @property
    def rows(self) -> int:
        """The number of readings that are missing."""
        return self.end.position - self.start.position

    def __str__(self) -> str:
        if not self.rows:
            return f"entries {self.start.number} up to {self.end.number} (no readings)"
        readings = f"{self.rows} reading{'' if self.rows == 1 else 's'}"
        return f"positions {self.start.position} up to {self.end.position} ({readings})"


@dataclass(frozen=True)
class Manifest:
    """See above."""

    first: SegmentId
    last: SegmentId
    lost: tuple[Loss, ...] = ()
    torn: tuple[int, int] = (0, 0)

    def to_bytes(self) -> bytes:
        """JSON, with a checksum of its own."""
        lost = [{"from": _pair(loss.start), "to": _pair(loss.end), "why": loss.why} for loss in self.lost]
        said: dict[str, Any] = {
            STAMP: FORMAT,
            "first": _pair(self.first),
            "last": _pair(self.last),
            "lost": lost,
        }
        said["torn"] = list(self.torn)
        return json.dumps({"checksum": _checksum(said), "manifest": said}).encode()

    @staticmethod
    def from_bytes(data: bytes, place: str) -> Manifest:
        """The inverse of `to_bytes`. Raises DataError for any other bytes."""
        try:
            whole = json.loads(data)
            said = whole["manifest"]
            if set(whole) == {"checksum", "manifest"} and whole["checksum"] == _checksum(said):
                check_format(said, FORMAT, f"the manifest of the log at {place}")
                lost = tuple(Loss(_id(e["from"]), _id(e["to"]), e["why"]) for e in said["lost"])
                tails, size = said["torn"]
                return Manifest(_id(said["first"]), _id(said["last"]), lost, (tails, size))
        except (ValueError, KeyError, TypeError):
            pass
        raise DataError(
            f"the manifest of the log at {place} is damaged",
            hint="nilometer log repair moves it aside and makes it again from the segments",
        )


def manifest_of(files: Files) -> Manifest | None:
    """The manifest of a log; None if an older release wrote the log."""
    try:
        return Manifest.from_bytes(bytes(files.read(FILE)), files.place)
    except FileNotFoundError:
        return None


def begun(files: Files, segment: SegmentId, ids: Sequence[SegmentId], lost: Sequence[Loss] = ()) -> None:
    """Record that a segment was begun. `ids` are the segments that are there, `lost` the entries that the
    writer has passed over."""
    found = manifest_of(files)
    if found is None:
        found = Manifest(min([*ids, segment]), segment)
    elif found.last >= segment and not lost:
        return
    last = max(found.last, segment)
    files.replace(FILE, replace(found, last=last, lost=(*found.lost, *lost)).to_bytes())


def cut_off(files: Files, size: int) -> None:
    """Count a torn tail that was cut off."""
    found = manifest_of(files)
    if found is not None:
        tails, before = found.torn
        files.replace(FILE, replace(found, torn=(tails + 1, before + size)).to_bytes())


def trimming(files: Files, first: SegmentId) -> None:
    """Record that retention deletes everything before this segment."""
    found = manifest_of(files)
    if found is not None and found.first < first:
        kept = tuple(loss for loss in found.lost if loss.end > first)
        files.replace(FILE, replace(found, first=first, lost=kept).to_bytes())


def not_recorded(manifest: Manifest | None, start: SegmentId, end: SegmentId) -> Iterator[Loss]:
    """The parts of a missing range that repair has not put on record."""
    for loss in sorted(manifest.lost if manifest is not None else (), key=lambda each: each.start):
        if start >= end:
            return
        if loss.end <= start:
            continue
        if loss.start >= end:
            break
        if loss.start > start:
            yield Loss(start, loss.start)
        start = max(start, loss.end)
    if start < end:
        yield Loss(start, end)


def end_on_record(files: Files) -> SegmentId:
    """The end of the last loss on record: a log goes on there, or after it."""
    manifest = manifest_of(files)
    lost = manifest.lost if manifest is not None else ()
    return max((loss.end for loss in lost), default=SegmentId(0, 0))


def _pair(segment: SegmentId) -> list[int]:
    return [segment.number, segment.position]


def _id(pair: Sequence[int]) -> SegmentId:
    number, position = pair
    return SegmentId(number, position)


def _checksum(said: Any) -> str:
    return f"{checksum_of(json.dumps(said, sort_keys=True).encode()):016x}"
