"""The demo without its pace: it ends by itself, its books balance, its answers are those of the reference."""

from __future__ import annotations

import pytest

from nilometer.engine import connect
from nilometer.laboratory.demo.field import QUESTIONS, field_of, slices
from nilometer.laboratory.demo.run import FRAMES_A_SECOND, run_demo
from nilometer.types import DAY


def test_the_demo_answers_as_the_reference_does(capsys: pytest.CaptureFixture[str]) -> None:
    waits: list[float] = []
    figures = run_demo(seconds=3, sensors=6, seed=3, wait=waits.append)
    assert figures["balanced"]
    assert "the books balance" in capsys.readouterr().out
    field = field_of(6, 3, DAY)
    database = connect(on="reference")
    database.catalog.add_stream(field.stream())
    database.catalog.add_sensors(field.sensors())
    source = slices(field)
    for _ in range(3 * FRAMES_A_SECOND):
        database.append("air", next(source))
    expected = {question.title: len(database.sql(question.sql).run()) for question in QUESTIONS}
    assert figures["answers"] == expected
