"""Every parser takes mutated inputs with an error of ours, or a value."""

from __future__ import annotations

import pytest

from nilometer.laboratory.fuzz.run import attempt, fuzz
from nilometer.laboratory.fuzz.targets import Target, targets


@pytest.mark.parametrize("name", sorted(targets()))
def test_mutated_inputs(name: str) -> None:
    found = fuzz(targets()[name], 0, lambda tried: tried < 60)
    assert found.crashes == {}


def test_a_crash_is_noticed() -> None:
    def breaks(data: bytes) -> object:
        return data.decode("ascii")

    assert "UnicodeDecodeError" in str(attempt(Target(breaks, ()), b"\xff"))
