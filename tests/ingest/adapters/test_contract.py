"""`nilometer.testing.check_adapter` takes an adapter that keeps the contract, and says which law another one breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.ingest.adapters import registry
from nilometer.ingest.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.testing import check_adapter


class Counting(Adapter):
    """Gives 0.0, 1.0, ... up to the number in its address, and numbers its readings."""

    def __init__(self, stream: Stream, address: Address, clock: Clock, _identity: str | None) -> None:
        super().__init__(stream, clock)
        self._most, self._at = int(address.path.strip("/")), 0

    def open(self) -> None:
        """There is nothing to open."""

    def resume(self, consumed: Mapping[str, int]) -> None:
        self._at = consumed.get("", 0)

    def read(self) -> ReadResult:
        count = min(7, self._most - self._at)
        if not count:
            return self.nothing(Status.END)
        rows = {"time": [self.clock()] * count, "id": [1] * count, "x": [float(self._at)] * count}
        result = ReadResult(Status.NEW_VALUE, pl.DataFrame(rows), sequence=self._at)
        self._at += count
        return result


class Forgetful(Counting):
    def resume(self, consumed: Mapping[str, int]) -> None:
        """Begins again."""


class Narrow(Counting):
    def read(self) -> ReadResult:
        found = super().read()
        return replace(found, rows=found.rows.drop("x"))


class Eager(Counting):
    def read(self) -> ReadResult:
        return ReadResult(Status.NEW_VALUE, self.nothing().rows)


class Miscounted(Counting):
    def read(self) -> ReadResult:
        found = super().read()
        return found if found.sequence is None else replace(found, sequence=found.sequence + 1)


COLUMNS = {"x": "FLOAT"}


def test_an_adapter_that_keeps_the_contract() -> None:
    assert check_adapter(Counting, "counting://here/25", COLUMNS) == 25


def test_our_own_adapter_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("id,time,x\n" + "".join(f"1,{1_767_225_600 + n},{n}.5\n" for n in range(30)))
    assert check_adapter(registry.SCHEMES["file"], f"file://{file}", COLUMNS) == 30


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Forgetful, "25 readings came again that `resume` said are in the log"),
        (Narrow, "its rows have"),
        (Eager, "NEW_VALUE comes without a reading"),
        (Miscounted, "a result has the sequence 1, and 0 readings"),
        (lambda *_: None, "it makes a NoneType, which is no Adapter"),
    ],
)
def test_the_law_that_is_broken_is_said(made: registry.Maker, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_adapter(made, "counting://here/25", COLUMNS)
