"""The growth of a ring by questions: the benchmark's own check of answers, on few readings."""

from __future__ import annotations

from nilometer.laboratory.benchmarks.overlay_questions import overlay_questions


def test_all_questions_have_all_their_results() -> None:
    measurements, notes = overlay_questions(1)
    assert len(measurements) == len(notes) == 7
    assert all(one.equal for one in measurements)
    assert all(one.rows_out > 0 for one in measurements[:-1])
    assert all("1.00 puts a reading" in note for note in notes)  # however many questions there are
