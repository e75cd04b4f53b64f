"""One server for the tests that do not stop it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.serving import AIR, Caller, calling

SCHEMA = (
    AIR
    + """
CREATE STREAM river (depth INT UNIT 'cm') SENSED EVERY 15 MINUTES COORDINATES WGS84;
CREATE SENSOR 'roof' OF air AT (-121.5, 38.2);
CREATE STREAM old (x INT) PUSHED;
CREATE SENSOR 5 OF river AT (-121.5, 38.5) WITH kind = 'gauge';
CREATE SENSOR 6 OF river AT (-100, 10) WITH kind = 'buoy';
CREATE QUERY everything STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air;
"""
)


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    folder: Path = tmp_path_factory.mktemp("field")
    (folder / "old.csv").write_text("time,id,x\n2026-03-01T06:00:00Z,1,7\n")
    with calling(folder, SCHEMA) as found:
        yield found
