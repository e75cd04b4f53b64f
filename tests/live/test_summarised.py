"""Raw readings go only where a standing summary covers them; and the summary reads them back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nilometer.cli.main import application
from nilometer.engine import connect
from nilometer.errors import ConfigurationError
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.summarised import covered_by, trim_covered
from nilometer.log import LogDirectory, LogSettings

SECOND = 1_000_000
START = 1_767_225_600 * SECOND
SCHEMA = """
CREATE STREAM air (v FLOAT, w FLOAT) PUSHED FROM 'directory://{folder}/in?batch=4' EXPECT EVERY 1 SECOND COORDINATES 'm';
CREATE SENSOR 1 OF air AT (0, 0); CREATE SENSOR 2 OF air AT (1, 0);
CREATE SENSOR 3 OF air AT (50, 0); CREATE SENSOR 4 OF air AT (51, 0);
CREATE PHENOMENON p ON air.v ABOVE 5 RANGE 2 SECONDS SLIDE 2 SECONDS NEIGHBOURS WITHIN 2 M;
CREATE PHENOMENON half ON air.v ABOVE 5 RANGE 2 SECONDS SLIDE 2 SECONDS NEIGHBOURS WITHIN 2 M WHERE v > 1;
CREATE QUERY kept STARTING AT BEGINNING AS SELECT * FROM SUMMARY(p CELLS 2);
CREATE QUERY few STARTING AT BEGINNING AS SELECT * FROM SUMMARY(half);
"""


def field(folder: Path) -> None:
    """Twelve seconds of four sensors."""
    (folder / "in").mkdir()
    (folder / "schema.sql").write_text(SCHEMA.format(folder=folder))
    for second in range(12):
        rows = [
            f"{START + second * SECOND},{sensor},{value},0"
            for sensor, value in ((1, 8), (2, 6), (3, 1), (4, 3))
        ]
        (folder / "in" / f"{second:02d}.csv").write_text("time,id,v,w\n" + "\n".join(rows) + "\n")
    database = connect(folder)
    with Station(database, folder) as station:
        station.install(database.query("kept"), "kept", durable=True, start=BEGINNING)
        station.run(lambda: False)


def test_a_summary_reads_members_and_cells_back(tmp_path: Path) -> None:
    field(tmp_path)
    done = CliRunner().invoke(
        application, ["log", "reconstruct", "kept", "--data", str(tmp_path), "--at", "2026-01-01T00:00:06Z"]
    )
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["id"], row["value"], row["member"]) for row in rows] == [
        (1, 7.0, True),
        (2, 7.0, True),
        (3, 2.0, False),
        (4, 2.0, False),
    ]
    database = connect(tmp_path)
    found = database.reconstruct("kept", "2026-01-01T00:00:06Z")
    assert found["time"].unique().to_list() == [datetime(2026, 1, 1, 0, 0, 6, tzinfo=UTC)]
    assert found.select("id", "value", "member").rows() == [
        (row["id"], row["value"], row["member"]) for row in rows
    ]
    assert database.reconstruct("kept").height > found.height


def test_what_a_summary_covers_may_go_and_nothing_else(tmp_path: Path) -> None:
    field(tmp_path)
    database = connect(tmp_path)
    covered = covered_by(database, "p")
    assert (covered.query, covered.stream, covered.left_out) == ("kept", "air", ("w",))
    assert covered.until < START + 12 * SECOND
    with pytest.raises(ConfigurationError, match="outside the WHERE of 'half' are in no summary"):
        covered_by(database, "half")
    with pytest.raises(ConfigurationError, match="no standing query keeps a summary of 'q'"):
        covered_by(database, "q")
    # A log with small segments, in which a summary stands for the readings up to the fifth second.
    covered = replace(covered, until=START + 4 * SECOND)
    other = LogDirectory(tmp_path / "other", LogSettings(segment_bytes=400))
    with other.log("air", LogDirectory(tmp_path).log("air").columns) as log:
        for rows in LogDirectory(tmp_path).log("air").scan():
            for part in rows.iter_slices(4):
                log.append(part.select(list(log.columns)))
    before = other.log("air").segments()
    assert len(before) > 4
    with pytest.raises(ConfigurationError, match=r"does not cover air from position \d+ to \d+") as refused:
        trim_covered(other, covered, None, force=False)
    assert "stands for readings up to" in str(refused.value.detail)
    left = other.log("air").segments()
    assert len(left) < len(before)
    assert left[0].index.least_time == START + 5 * SECOND, "the first segment that is not covered is there"
    assert trim_covered(other, covered, START, force=False).rows == 0, "nothing is so old"
