"""Spoils one file while nothing runs: a bit flips, or the file loses its end or is gone.

The law: `exposed` are the readings that a log may lose by it without a word from its readers. Nothing tells the last
record of an open segment, once it is spoilt, from one that a crash left unfinished
(docs/decisions/20261118-damage-is-noticed.md). It is cut off, and so is what follows it, unless a whole record
after it says that it was settled. Every other loss must be noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa

from nilometer.log import LogDirectory
from nilometer.log.local_files import LocalFiles
from nilometer.log.manifest import manifest_of
from nilometer.log.record import Header, RecordKind, records_in


@dataclass(frozen=True)
class Rot:
    """A spoilt file, how it is spoilt, and the readings that its log may lose by that. `torn` is how many unfinished
    records had been cut off the log before."""

    path: Path
    how: str
    torn: int
    exposed: frozenset[int] = frozenset()

    @property
    def cut_off(self) -> bool:
        """Whether a log took the spoilt end for an unfinished record, and cut it off."""
        return _of_a_stream(self.path) and torn_tails(self.path.parent) > self.torn


def spoil(folder: Path, random: Random) -> Rot | None:
    """Spoil one file of the data directory. None if it has no files."""
    files = sorted(
        path
        for path in (folder / ".nilometer").rglob("*")
        if path.is_file() and path.stat().st_size and path.suffix in ("", ".segment", ".index", ".json")
    )
    if not files:
        return None
    path = random.choice(files)
    torn = torn_tails(path.parent)
    data = bytearray(path.read_bytes())
    match random.randrange(4):
        case 0:
            size = random.randrange(len(data))
            lost = _readings(path, cut_records(bytes(data), size))
            path.write_bytes(data[:size])
            return Rot(path, "is cut", torn, lost)
        case 1:
            path.unlink()
            return Rot(path, "is gone", torn)
        case _:
            place = random.randrange(len(data))
            bit = 1 << random.randrange(8)
            lost = _readings(path, flipped_records(bytes(data), place))
            data[place] ^= bit
            path.write_bytes(data)
            return Rot(path, f"has a wrong bit in byte {place}", torn, lost)


def cut_records(segment: bytes, size: int) -> list[Header]:
    """The records of a segment that are not whole after `size` bytes."""
    return [header for header in records_in(pa.py_buffer(segment)) if header.end > size]


def flipped_records(segment: bytes, place: int) -> list[Header]:
    """The records of a segment that may be cut off because of a wrong byte: from the record with that byte on, if no
    record that follows says that it was settled."""
    tail = [header for header in records_in(pa.py_buffer(segment)) if header.end > place]
    if any(header.settled > tail[0].start for header in tail[1:]):
        return []
    return tail


def torn_tails(folder: Path) -> int:
    """How many unfinished records were cut off the log in this folder."""
    manifest = manifest_of(LocalFiles(folder))
    return 0 if manifest is None else manifest.torn[0]


def _of_a_stream(path: Path) -> bool:
    return path.suffix == ".segment" and path.parent.parent.name == "log"


def _readings(path: Path, records: list[Header]) -> frozenset[int]:
    """The numbers of the readings in these records. A sealed segment has an index, so nothing of it looks unfinished."""
    if not _of_a_stream(path) or path.with_suffix(".index").exists():
        return frozenset()
    numbers = {header.number for header in records if header.kind == RecordKind.ROWS}
    return frozenset(
        x
        for entry in LogDirectory(path.parents[3]).log(path.parent.name).read()
        if entry.rows is not None and entry.after.number - 1 in numbers
        for x in entry.rows.get_column("x").to_list()
    )
