"""Notes, dead letters and demands: beside the rows, over rotations, and in logs from before there were any."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from log.logs import COLUMNS, frame, open_log, rows_of
from nilometer.log import Letter, StreamLog
from nilometer.log.annex import annex_from_bytes
from nilometer.log.segment import SEGMENT

LETTERS = [Letter(5, "a/1", "no time", b"\xff\x00"), Letter(None, "", "beyond", b"", 7)]


def test_readers_and_offsets_pass_over_what_stands_beside_the_rows(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append(frame(0, 3), note={"n": 1})
    log.writer.letters(LETTERS, note={"n": 2})
    log.writer.demand({"interval": 2})
    log.heartbeat(3)
    log.append(frame(3, 2))
    assert [(e.position, e.note) for e in log.read()] == [(0, {"n": 1}), (3, None), (3, None)]
    assert (log.end.number, log.end.position) == (3, 5)
    assert_frame_equal(rows_of(log), frame(0, 5))
    assert log.letters()["payload"].to_list() == [b"\xff\x00", b""]
    assert log.letters(1).rows() == [(None, "", "beyond", b"", 7)]
    assert list(log.demands()) == [{"interval": 2}]
    assert log.note == StreamLog(tmp_path).note == {"n": 2}
    log.close()


def test_a_segment_of_letters_alone_is_not_written_over(memory: Path) -> None:
    log = open_log(memory, segment_bytes=600)
    for number in range(20):
        log.writer.letters([Letter(number, "s", "why", bytes(100))], note={"n": number})
    log.evolve({**COLUMNS, "w": pl.Int64()})
    log.writer.letters([Letter(20, "s", "why", b"")])
    log.abandon()
    log = open_log(memory, segment_bytes=600)
    assert log.letters()["arrived"].to_list() == list(range(21))
    assert log.letters(2)["arrived"].to_list() == [19, 20]
    assert log.note == {"n": 19}, "carried into each new segment"
    assert len(list(memory.glob("*" + SEGMENT))) > 5
    log.append(frame(0, 2))
    log.close()
    assert not log.verify().damages
    assert_frame_equal(rows_of(log), frame(0, 2))


def test_a_note_of_gathered_rows_waits_with_them(tmp_path: Path) -> None:
    log = open_log(tmp_path, gather_rows=10)
    log.append(frame(0, 2), note={"n": 2})
    log.append(frame(2, 2), note={"n": 4})
    assert log.note is None
    log.writer.written()
    assert StreamLog(tmp_path).note == log.note == {"n": 4}
    log.append(frame(4, 2), note={"n": 6})
    log.writer.letters([], note={"n": 7})
    assert [entry.note for entry in log.read()] == [{"n": 4}, {"n": 6}]
    assert log.note == {"n": 7}
    log.close()


def test_a_log_from_before_there_were_notes(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=600)
    for number in range(4):
        log.append(frame(3 * number, 3), producer="p", sequence=number)
    log.close()
    assert annex_from_bytes(b'[["p",3]]') == ([("p", 3)], None)
    log = open_log(tmp_path)
    assert log.note is None
    assert log.writer.note is None
    assert log.append(frame(9, 3), producer="p", sequence=3).duplicate
    assert log.letters().is_empty()
    log.close()


def test_closed_empty_and_opened_with_other_columns(tmp_path: Path) -> None:
    _ = open_log(tmp_path).writer.close()
    with StreamLog(tmp_path, {**COLUMNS, "w": pl.Int64()}) as log:
        assert not log.verify().damages
        log.append(frame(0, 1))
    assert not log.verify().damages
