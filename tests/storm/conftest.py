"""What every storm begins with: an empty folder, and processes that are gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from log.logs import scratch
from storm.lives import Nursery


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as name:
        yield Path(name)


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    found = Nursery()
    yield found
    found.close()
