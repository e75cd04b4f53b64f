"""The judge accepts the loss of the records that really were cut off, and of no other reading."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from nilometer.laboratory.storm import rot, story
from nilometer.laboratory.storm.declarations import RIVER
from nilometer.laboratory.storm.judge import BrokenPromiseError
from nilometer.laboratory.storm.rot import Rot, cut_records, flipped_records, spoil
from nilometer.laboratory.storm.seeds import Case, run
from nilometer.laboratory.storm.story import Story
from nilometer.log.record import Encoder, Header, RecordKind, records_in

ROTTEN_END = Case(894)
"""A bit flips in the last record of river's log, after a crash."""


def test_a_rotten_end_may_be_cut_off() -> None:
    outcome = run(ROTTEN_END)
    assert outcome.wrong is None
    assert outcome.counts["rotten ends cut off"] == 1


def test_a_reading_that_was_not_in_the_rotten_end_may_not_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same story, in which the readings of the cut record are not the ones that may be lost."""

    def spoils_another(folder: Path, random: Random) -> Rot | None:
        found = spoil(folder, random)
        assert found is not None
        assert found.exposed
        return Rot(found.path, found.how, found.torn, frozenset({max(found.exposed) + 1}))

    monkeypatch.setattr(story, "spoil", spoils_another)
    assert "was acknowledged" in str(run(ROTTEN_END).wrong)


def test_the_judge_asks_for_every_reading_but_those_of_the_cut_records(tmp_path: Path) -> None:
    told = Story(3, tmp_path, frozenset(), steps=12)
    assert told.run().wrong is None
    last = sorted((tmp_path / ".nilometer" / "log" / RIVER).glob("*.segment"))[-1]
    last.with_suffix(".index").unlink()
    whole = last.read_bytes()
    rows = [each for each in records_in(pa.py_buffer(whole)) if each.kind == RecordKind.ROWS]
    lost = rot._readings(last, [rows[-1]]), rot._readings(last, rows[-2:])
    assert lost[0] < lost[1]
    last.write_bytes(whole[: rows[-2].start])
    with pytest.raises(BrokenPromiseError, match=f"reading {min(lost[1])} was acknowledged"):
        told.judge.streams(told.database, lost[0])
    told.judge.streams(told.database, lost[1])


def records(*settled: int) -> bytes:
    """A segment of records that say so much was settled."""
    encoder = Encoder()
    return b"".join(
        bytes(encoder.encode(RecordKind.ROWS, position=0, number=number, settled=each)[0])
        for number, each in enumerate(settled)
    )


@pytest.mark.parametrize(
    ("settled", "place", "expected"),
    [
        ((0, 0, 0), 300, [2]),
        ((0, 0, 0), 130, [1, 2]),
        ((0, 128, 256), 130, []),  # the third knows that the second was settled
        ((0, 128, 256), 300, [2]),
        ((0, 0, 128), 130, [1, 2]),
        ((0, 0, 128), 0, []),
    ],
)
def test_a_flipped_bit_may_cost_what_no_record_calls_settled(
    settled: tuple[int, ...], place: int, expected: list[int]
) -> None:
    def numbers(found: list[Header]) -> list[int]:
        return [each.number for each in found]

    segment = records(*settled)
    assert numbers(flipped_records(segment, place)) == expected
    # A lost end costs what it held, whatever the records say.
    assert numbers(cut_records(segment, place)) == [each for each in range(3) if 128 * (each + 1) > place]
