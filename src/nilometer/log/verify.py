"""Verifies a log: finds everything that is not as it was written, in checksums, positions, times, indexes and
named readers.

The law: if any bit of any file of a log is flipped, `verify` reports it, or the flip changed nothing (a
comment in JSON).
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.errors import DataError
from nilometer.log import letters
from nilometer.log.files import Files
from nilometer.log.formats import FormatError
from nilometer.log.gaps import damage_of, lost_end, orphans
from nilometer.log.manifest import FILE, Loss, Manifest, manifest_of, not_recorded
from nilometer.log.reader import Offset, batch_of
from nilometer.log.readers import ENDING, FOLDER, stored_offset
from nilometer.log.record import BESIDE, ENTRIES, UNKNOWN, Header, RecordKind, Records
from nilometer.log.schema import dtypes_of, time_column_of
from nilometer.log.segment import Damage, Index, SegmentId, Tally, contents_of, look, segment_ids
from nilometer.log.writer import NOBODY, Committed
from nilometer.operators.frames import from_bytes

LOOKS, PAUSE = 3, 0.02
"""A record that is just being written looks like a torn tail, so it is read LOOKS times, PAUSE seconds apart."""


@dataclass(frozen=True)
class Verdict:
    """The things checked, the damage found, and the losses that repair has put on record."""

    segments: int
    records: int
    rows: int
    size: int
    damages: tuple[Damage, ...]
    lost: tuple[Loss, ...] = ()
    torn: tuple[int, int] = (0, 0)
    """How many torn tails writers have cut off so far, and their bytes."""


def verify(files: Files, committed: Committed = NOBODY) -> Verdict:
    """Read and check everything. `committed` gives the offsets that others have committed."""
    damages: list[Damage] = []
    ids = segment_ids(files)
    records = rows = size = 0
    manifest: Manifest | None = None
    try:
        manifest = manifest_of(files)
    except FormatError:
        raise
    except DataError as error:
        damages.append(Damage(FILE, 0, files.size(FILE), error.message))
    if manifest is not None and ids:
        losses = not_recorded(manifest, manifest.first, ids[0]) if manifest.first < ids[0] else ()
        damages += [damage_of(loss, ids[0]) for loss in losses]
    damages += [Damage(name, 0, 0, "an index without its segment") for name in orphans(files)]
    end: SegmentId | None = None
    for number, segment in enumerate(ids):
        last = number + 1 == len(ids)
        if end is not None and end != segment:
            gap = f"a gap: the segment before ends at position {end.position}, entry {end.number}"
            unknown = list(not_recorded(manifest, end, segment)) if end < segment else [None]
            damages += [Damage(segment.name, 0, 0, gap, gap=True) for _ in unknown]
        index, tally = _verify_segment(files, segment, damages, manifest)
        if index is None and not last and not any(d.segment == segment.index_name for d in damages):
            damages.append(Damage(segment.name, 0, 0, "its index is missing"))
        end = tally.end
        if index is not None:
            end = SegmentId(index.end_number, index.end_position)
        records += tally.records
        rows += tally.end.position - segment.position
        size += tally.size
    lost = manifest.lost if manifest is not None else ()
    end = max([end or SegmentId(0, 0), *(loss.end for loss in lost)])
    _verify_readers(files, end, damages)
    if not any(damage.segment == FILE for damage in damages):
        beyond = lost_end(files, end, committed())
        if beyond is not None:
            damages.append(Damage(ids[-1].name if ids else FILE, 0, 0, f"it has lost its end: {beyond}"))
    torn = manifest.torn if manifest is not None else (0, 0)
    return Verdict(len(ids), records, rows, size, tuple(damages), lost, torn)


def _verify_segment(
    files: Files, segment: SegmentId, damages: list[Damage], manifest: Manifest | None
) -> tuple[Index | None, Tally]:
    for _ in range(LOOKS):
        found: list[Damage] = []
        index: Index | None = None
        try:
            index, contents = look(files, segment, on_damage=found.append)
        except FormatError:
            raise
        except DataError as error:
            found = [Damage(segment.index_name, 0, files.size(segment.index_name), error.message)]
            contents = contents_of(files, segment, None, on_damage=found.append)
        if not contents.torn or index is not None:
            break
        time.sleep(PAUSE)
    damages += found
    if contents.torn and index is None:
        what = "a torn tail, which the next writer will cut off"
        damages.append(Damage(segment.name, contents.end, contents.end + contents.torn, what))
    schema = contents.schema(damages.append)
    tally = Tally(segment)
    for header, run in contents:
        where = (segment.name, header.start, header.end)
        at = SegmentId(header.number, header.position)
        if header.kind in ENTRIES and at != tally.end and _unexplained(manifest, tally.end, at):
            damages.append(Damage(*where, f"position {header.position} follows {tally.end.position}"))
        if header.kind == RecordKind.ROWS and schema is not None:
            wrong = wrong_rows(header, run, schema)
            if wrong:
                damages.append(Damage(*where, wrong))
        elif header.kind == RecordKind.SUMMARIES:
            wrong = _wrong_summaries(header, run)
            if wrong:
                damages.append(Damage(*where, wrong))
        elif header.kind in BESIDE:
            wrong = _wrong_beside(header, run)
            if wrong:
                damages.append(Damage(*where, wrong))
        tally.add_header(header)
    if index is not None and len(contents.runs) == 1 and tally.index() != index:
        damages.append(Damage(segment.index_name, 0, 0, "the index does not say what the segment holds"))
    return index, tally


def _unexplained(manifest: Manifest | None, end: SegmentId, at: SegmentId) -> bool:
    """Whether the entries between two records are neither there nor on record as lost."""
    return at < end or any(not_recorded(manifest, end, at))


def wrong_rows(header: Header, run: Records, schema: Any) -> str | None:
    """The reason why a record's rows are not what its header says; None if they are."""
    try:
        batch = batch_of(header, run, schema)
        batch.validate(full=True)
    except (OSError, ValueError) as error:
        return f"rows that Arrow cannot read: {error}"
    except DataError as error:
        return error.message
    if batch.num_rows != header.rows:
        return f"{batch.num_rows} rows, not {header.rows}"
    column = time_column_of(schema)
    if column is None:
        return None
    times = pl.Series(batch.column(column), dtype=dtypes_of(schema)[column])
    least, greatest = times.min(), times.max()
    found = (UNKNOWN, UNKNOWN) if least is None else (least, greatest)
    return None if found == (header.least_time, header.greatest_time) else "times outside their range"


def _wrong_summaries(header: Header, run: Records) -> str | None:
    try:
        from_bytes(bytes(header.body(run.buffer, run.base)))
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        return f"summaries that cannot be read: {error}"
    return None


def _wrong_beside(header: Header, run: Records) -> str | None:
    try:
        if header.kind == RecordKind.LETTERS:
            letters.from_record(header, run).validate(full=True)
        else:
            json.loads(bytes(header.body(run.buffer, run.base)))
    except (OSError, ValueError, DataError) as error:
        return f"letters or a demand that cannot be read: {error}"
    return None


def _verify_readers(files: Files, end: SegmentId, damages: list[Damage]) -> None:
    for file in files.names(FOLDER):
        path = f"{FOLDER}/{file}"
        try:
            offset = stored_offset(files, file.removesuffix(ENDING)) or Offset()
        except DataError as error:
            damages.append(Damage(path, 0, files.size(path), error.message))
            continue
        if (offset.number, offset.position) > (end.number, end.position):
            damages.append(
                Damage(path, 0, 0, f"it stands at {offset.position}, behind the end {end.position}")
            )
