"""Any flipped bit is noticed, by verify and by scan; damage takes nothing else along, and the stream goes on."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from log.logs import COLUMNS, frame, open_log, rows_of, scratch
from nilometer.errors import DataError
from nilometer.log import Damage, Letter, StreamLog
from nilometer.log.local_files import LocalFiles
from nilometer.log.manifest import FILE as MANIFEST
from nilometer.log.record import Encoder, RecordKind, records_in
from nilometer.log.segment import INDEX, SEGMENT
from nilometer.log.verify import Verdict


def flip(file: Path, bit: int) -> None:
    """Flip one bit of a file."""
    data = bytearray(file.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


def written(folder: Path, batches: int = 6, **options: object) -> StreamLog:
    """A cleanly closed log of several segments, with heartbeats and a reader."""
    log = open_log(folder, **({"segment_bytes": 1_500} | options))
    for number in range(batches):
        log.append(frame(5 * number, 5), producer="p", sequence=number, note={"batches": number})
        log.heartbeat(5 * number)
        if number % 2:
            log.writer.letters([Letter(number, "s", "why", b"bytes")], note={"batches": number})
            log.writer.demand({"interval": number})
    log.close()
    reader = log.reader("r")
    reader.read(7)
    reader.commit()
    return StreamLog(folder)


@settings(max_examples=150)
@given(st.integers(0, 2**40))
def test_a_flipped_bit_is_noticed_by_verify_and_by_scan(place: int) -> None:
    with scratch() as folder:
        log = written(Path(folder))
        assert not log.verify().damages
        files = [
            file for file in sorted(Path(folder).rglob("*")) if file.is_file() and file.name != "writer.lock"
        ]
        sizes = [8 * file.stat().st_size for file in files]
        bit = place % sum(sizes)
        number = 0
        while bit >= sizes[number]:
            bit -= sizes[number]
            number += 1
        file = files[number]
        flip(file, bit)
        assert log.verify().damages, f"bit {bit} of {file.name}"
        if file.suffix == ".json":
            with pytest.raises(DataError, match="reader 'r' is damaged"):
                log.reader("r")
        elif file.name == MANIFEST:
            # The segments are as they were, and are read; the writer must know what else there should be.
            assert_frame_equal(rows_of(log), frame(0, 30))
            with pytest.raises(DataError, match=r"manifest .* is damaged"):
                _ = log.writer
        else:
            with pytest.raises(DataError, match="damaged"):
                rows_of(log)


def test_an_open_segment_damaged_in_the_middle_is_not_a_torn_tail(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=1 << 20, fsync="always")
    for number in range(6):
        log.append(frame(5 * number, 5), producer="p", sequence=number)
    log.abandon()
    file = next(tmp_path.glob("*" + SEGMENT))
    third = list(records_in(pa.py_buffer(file.read_bytes())))[3]
    flip(file, 8 * (third.start + 200))
    with pytest.raises(DataError, match="damaged"):
        rows_of(StreamLog(tmp_path))
    told: list[Damage] = []
    kept = list(StreamLog(tmp_path).scan(on_damage=told.append))
    assert len(told) == 1
    assert sum(f.height for f in kept) == 25
    log = open_log(tmp_path)
    assert log.append(frame(30, 5), producer="p", sequence=6).position == 30
    assert log.append(frame(0, 5), producer="p", sequence=3).duplicate
    log.close()
    assert sum(f.height for f in log.scan(on_damage=told.append)) == 30
    read = [e.rows.height for e in log.read(on_damage=told.append) if e.rows is not None]
    assert read == [5] * 6
    assert [e.position for e in log.read(on_damage=told.append)] == [0, 5, 15, 20, 25, 30]
    assert log.verify().damages


@pytest.mark.parametrize("where", ["first", "last"])
def test_a_lost_segment_or_index_is_noticed(tmp_path: Path, where: str) -> None:
    log = written(tmp_path)
    ids = sorted(tmp_path.glob("*" + SEGMENT))
    ids[1].unlink()
    ids[1].with_suffix(INDEX).unlink()
    assert "gap" in log.verify().damages[0].what
    log = written(tmp_path / where)
    sorted((tmp_path / where).glob("*" + INDEX))[0].unlink()
    assert "index is missing" in log.verify().damages[0].what
    assert_frame_equal(rows_of(log), frame(0, 30))


def test_exchanged_records_are_noticed(tmp_path: Path) -> None:
    log = written(tmp_path, segment_bytes=1 << 20)
    file = next(tmp_path.glob("*" + SEGMENT))
    run = records_in(pa.py_buffer(file.read_bytes()))
    headers = list(run)
    data = file.read_bytes()
    one, two = headers[1], headers[3]
    assert one.end - one.start == two.end - two.start
    swapped = (
        data[: one.start]
        + data[two.start : two.end]
        + data[one.end : two.start]
        + data[one.start : one.end]
        + data[two.end :]
    )
    file.write_bytes(swapped)
    assert any("follows" in damage.what for damage in log.verify().damages)
    with pytest.raises(DataError, match="not those of its index"):
        rows_of(log)


@settings(max_examples=50)
@given(st.binary(max_size=500), st.binary(max_size=50), st.integers(0, 2**62), st.randoms())
def test_a_record_is_read_back_and_nothing_else_is_one(
    body: bytes, annex: bytes, number: int, randomness: random.Random
) -> None:
    data, checksum = Encoder().encode(
        RecordKind.ROWS,
        position=number,
        number=number // 2,
        rows=3,
        times=(-5, 7),
        body=body,
        annex=annex,
        settled=64,
    )
    buffer = pa.py_buffer(bytes(data))
    (header,) = records_in(buffer)
    assert bytes(header.body(buffer)) == body
    assert header.annex(buffer) == annex
    assert (header.position, header.number, header.rows) == (number, number // 2, 3)
    assert (header.least_time, header.greatest_time, header.settled, header.checksum) == (-5, 7, 64, checksum)
    flipped = bytearray(data)
    flipped[randomness.randrange(len(flipped))] ^= 1 << randomness.randrange(8)
    assert not list(records_in(pa.py_buffer(bytes(flipped))))
    assert not list(records_in(pa.py_buffer(bytes(data[: randomness.randrange(len(data))]))))


@pytest.mark.parametrize("left", [0, 1, 100])
def test_a_segment_without_its_head_does_not_stop_the_stream(tmp_path: Path, left: int) -> None:
    log = written(tmp_path)
    last = max(tmp_path.glob("*" + SEGMENT))
    last.write_bytes(last.read_bytes()[:left])
    last.with_suffix(INDEX).unlink()
    log = open_log(tmp_path, segment_bytes=1_500)
    position = log.end.position
    log.append(frame(position, 5), producer="q", sequence=0)
    assert log.append(frame(0, 5), producer="p", sequence=0).duplicate
    log.close()
    assert log.verify().damages
    told: list[Damage] = []
    assert sum(f.height for f in log.scan(on_damage=told.append)) == position + 5
    assert told


def test_a_segment_without_its_index_can_be_trimmed(tmp_path: Path) -> None:
    log = written(tmp_path)
    log.forget_reader("r")
    log.forget_reader("r")
    for file in tmp_path.glob("*" + INDEX):
        file.unlink()
    assert log.trim(before=4).segments == 0
    segments = len(log.segments())
    assert log.trim(before=1_000).segments == segments - 1
    assert len(log.segments()) == 1


class Meddled(LocalFiles):
    """Something happens to the log between the reading of an index and of its segment."""

    meddle: list[Callable[[], object]]

    def read(self, name: str, start: int = 0, size: int = -1) -> Any:
        """Whatever was read, it is old."""
        try:
            return super().read(name, start, size)
        finally:
            if name.endswith(INDEX) and self.meddle:
                self.meddle.pop(0)()


def test_a_segment_opened_again_while_it_is_read_is_not_damaged(tmp_path: Path) -> None:
    writer = open_log(tmp_path)

    def again() -> None:
        writer.append(frame(writer.end.position, 5))

    again()
    files = Meddled(tmp_path)
    log = StreamLog(files, COLUMNS)
    for look in (lambda: rows_of(log), lambda: list(log.read()), log.verify):
        writer.close()
        files.meddle = [again, writer.close, again, writer.close]
        seen = look()
        assert len(files.meddle) < 4, "the writer was there in between"
        assert not isinstance(seen, Verdict) or not seen.damages
        files.meddle = []
    writer.close()
    assert not writer.verify().damages
