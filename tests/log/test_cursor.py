"""A cursor reads an open segment in pieces, and gives the same entries however small they are."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyarrow import fs

from log.logs import COLUMNS, frame
from nilometer.errors import DataError
from nilometer.log import Letter, LogSettings, StreamLog, reader
from nilometer.log.arrow_files import ArrowFiles
from nilometer.log.files import Files
from nilometer.log.local_files import LocalFiles
from nilometer.log.reader import Cursor, Offset
from nilometer.log.segment import segment_ids


def files_of(kind: str, folder: Path) -> Files:
    return LocalFiles(folder) if kind == "local" else ArrowFiles(fs.LocalFileSystem(), str(folder))


def written(files: Files, segment_bytes: int = 1 << 20) -> StreamLog:
    """Entries of many sizes, with letters and heartbeats between them."""
    log = StreamLog(files, COLUMNS, LogSettings(segment_bytes=segment_bytes), clock=lambda: 0.0)
    first = 0
    for number in range(40):
        rows = (number * 7) % 60
        if rows:
            log.append(frame(first, rows))
            first += rows
        else:
            log.heartbeat(first)
        if number % 3 == 0:
            log.writer.letters([Letter(1, "s", "broken", b"x" * 500, 1)])
        log.flush()
    return log


@pytest.mark.parametrize("kind", ["local", "arrow"])
@pytest.mark.parametrize("chunk", [8, 64, 1_000, 10_000, 1 << 22])
@pytest.mark.parametrize("segment_bytes", [4_000, 1 << 20])
def test_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, chunk: int, segment_bytes: int
) -> None:
    log = written(files_of(kind, tmp_path / "log"), segment_bytes)
    whole = pl.concat(list(log.scan()))
    monkeypatch.setattr(reader, "CHUNK", chunk)
    for begin in (Offset(), Offset(7, int(whole.height * 7 / 40)), log.end):
        cursor = Cursor(log.files, begin, COLUMNS)
        entries = []
        while (entry := cursor.next(25)) is not None:
            entries.append(entry)
        rows = [entry.rows for entry in entries if entry.rows is not None]
        found = pl.concat([whole.clear(), *rows])
        assert found.equals(whole[-found.height :] if found.height else whole.clear())
        if begin == Offset():
            assert found.height == whole.height
            assert sum(entry.tick is not None for entry in entries) == sum(n * 7 % 60 == 0 for n in range(40))
        assert cursor.offset == log.end
    log.append(frame(whole.height, 3))
    log.flush()
    entry = cursor.next()
    assert entry is not None
    assert entry.rows is not None
    assert entry.rows.equals(frame(whole.height, 3)), "and goes on where it stands"


@pytest.mark.parametrize("chunk", [8, 1_000, 1 << 22])
def test_damage_is_found_in_pieces_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    log = written(LocalFiles(tmp_path))
    log.abandon()
    segment = tmp_path / segment_ids(log.files)[0].name
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    monkeypatch.setattr(reader, "CHUNK", chunk)
    with pytest.raises(DataError, match="the log is damaged"):
        list(Cursor(log.files, Offset(), COLUMNS))


def test_a_cursor_holds_a_piece_of_an_open_segment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = written(LocalFiles(tmp_path))
    longest = 0

    class Watched(LocalFiles):
        def read(self, name: str, start: int = 0, size: int = -1) -> object:
            nonlocal longest
            data = super().read(name, start, size)
            longest = max(longest, data.size)
            return data

    monkeypatch.setattr(reader, "CHUNK", 4_000)
    assert (
        sum(e.rows.height for e in Cursor(Watched(tmp_path), Offset(), COLUMNS) if e.rows is not None) > 1_000
    )
    assert 0 < longest <= 8_000
    log.close()
