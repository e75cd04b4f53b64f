"""Every parser takes mutated inputs with an error of ours, or a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from nilometer.laboratory.fuzz.run import attempt, fuzz, kept_corpus
from nilometer.laboratory.fuzz.targets import Target, targets

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.promise("fuzz")
@pytest.mark.parametrize("name", sorted(targets()))
def test_mutated_inputs(name: str) -> None:
    found = fuzz(targets()[name], 0, lambda tried: tried < 60)
    assert found.crashes == {}


@pytest.mark.promise("fuzz")
@pytest.mark.parametrize("name", sorted(targets()))
def test_inputs_that_were_found_or_have_crashed(name: str) -> None:
    kept = kept_corpus(CORPUS, name)
    assert kept, "nilometer fuzz --atheris --corpus finds some"
    target = targets()[name]
    assert {crash for data in kept if (crash := attempt(target, data)) is not None} == set()


def test_a_crash_is_noticed() -> None:
    def breaks(data: bytes) -> object:
        return data.decode("ascii")

    assert "UnicodeDecodeError" in str(attempt(Target(breaks, ()), b"\xff"))
