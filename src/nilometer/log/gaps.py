"""Missing entries of a log: between two segments, before the first, after the last.

    segment A ends at 1,000 · segment B begins at 2,000      positions 1,000 up to 2,000 are missing
    the manifest's first segment is older than what is left  segments that retention did not delete
    the manifest's last segment is newer, or a reader has committed beyond the end    the log lost its end

The law: a gap is refused wherever it is met, with both numbers and the way out, unless repair has put it on
record (manifest.py). A log with a lost end takes no append: its positions would be used twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from nilometer.errors import DataError
from nilometer.log.files import Files
from nilometer.log.manifest import Loss, Manifest, manifest_of, not_recorded
from nilometer.log.segment import INDEX, Damage, Index, OnDamage, SegmentId, segment_ids


class LostEndError(DataError):
    """A log ends before entries that were committed."""


class Continuity:
    """Checks that each segment follows the one before it. `rows` counts the readings that were passed over, on
    record or not."""

    def __init__(self, files: Files, on_damage: OnDamage) -> None:
        self._files = files
        self._on_damage = on_damage
        self._manifest: Manifest | None = None
        self._known = False
        self.rows = 0

    def check(self, reached: SegmentId, following: SegmentId) -> None:
        """Report the entries that are missing between `reached` and a segment that begins after it."""
        if reached >= following:
            return
        self.rows += max(0, following.position - reached.position)
        for loss in not_recorded(self._recorded(), reached, following):
            self._on_damage(damage_of(loss, following))

    def check_first(self, wanted: SegmentId, first: SegmentId) -> SegmentId:
        """Report segments that are missing before the first one, although retention has not deleted them.
        Returns where retention has left off."""
        manifest = self._recorded()
        if manifest is None or manifest.first >= first:
            return first
        begin = max(manifest.first, wanted)
        self.check(begin, first)
        return begin

    def check_end(self, end: SegmentId, wanted: SegmentId) -> None:
        """Refuse an offset beyond the end of the log, unless what lies between is on record as lost."""
        if wanted.number > end.number and any(not_recorded(self._recorded(), end, wanted)):
            raise LostEnd(end, wanted, "its reader").error(self._files.place)

    def _recorded(self) -> Manifest | None:
        # Read when first needed: most logs have no gap.
        if not self._known:
            self._manifest, self._known = manifest_of(self._files), True
        return self._manifest


def damage_of(loss: Loss, following: SegmentId) -> Damage:
    """A gap before a segment, as damage."""
    return Damage(following.name, 0, 0, f"{loss} are missing before this segment", gap=True)


@dataclass(frozen=True)
class LostEnd:
    """A log that ends before what `who` knows of it."""

    end: SegmentId
    known: SegmentId
    who: str

    def __str__(self) -> str:
        return (
            f"it ends at position {self.end.position} (entry {self.end.number}), and {self.who}"
            f" stands at position {self.known.position} (entry {self.known.number})"
        )

    def error(self, place: str) -> LostEndError:
        """The refusal, with both numbers and the way out."""
        rows = max(0, self.known.position - self.end.position)
        return LostEndError(
            f"the log at {place} has lost its end: {self}",
            detail=f"{rows} rows that were acknowledged are gone; no position is used twice",
            hint=f"put the missing bytes back; or {repair_of(place)} puts the loss on record and goes on after it,"
            " and then nilometer queries replay NAME answers again from what is left",
        )


def repair_of(place: str) -> str:
    """The command that repairs the log at a place."""
    *_, kind, name, last = ("", "", *Path(place).parts)
    return f"nilometer log repair {f'--query {name}' if kind == 'queries' else unquote(last)}"


def lost_end(files: Files, end: SegmentId, known: Mapping[str, SegmentId]) -> LostEnd | None:
    """Whoever knows most of a log beyond its end; None if the log has all that anybody knows of. `known` has
    the committed offsets, by what holds them."""
    ids = set(segment_ids(files))
    told = dict(known)
    manifest = manifest_of(files)
    if manifest is not None:
        # How much a missing last segment held is unknown, unless its index is left.
        gone = SegmentId(manifest.last.number + 1, manifest.last.position)
        told["its missing last segment"] = manifest.last if manifest.last in ids else gone
    for name in orphans(files):
        with contextlib.suppress(DataError):
            index = Index.from_bytes(bytes(files.read(name)), name)
            told["the index of a missing segment"] = SegmentId(index.end_number, index.end_position)
    who = max(told, key=lambda name: (told[name], name), default=None)
    return LostEnd(end, told[who], who) if who is not None and told[who] > end else None


def orphans(files: Files) -> list[str]:
    """The indexes of missing segments. Those before the first segment are what a crash left of retention; of a segment
    after the last one that was begun, there never were any rows."""
    ids = segment_ids(files)
    names = {segment.index_name for segment in ids}
    first = ids[0].index_name if ids else ""
    with contextlib.suppress(DataError):
        manifest = manifest_of(files)
        if manifest is not None:
            names |= {name for name in files.names() if name > manifest.last.index_name}
    return [name for name in files.names() if name.endswith(INDEX) and name not in names and name > first]
