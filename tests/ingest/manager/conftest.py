"""A folder in memory for tests that write by the hundred."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from log.logs import scratch


@pytest.fixture
def memory() -> Iterator[Path]:
    with scratch() as folder:
        yield Path(folder)
