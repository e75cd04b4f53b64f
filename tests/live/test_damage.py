"""`log verify` finds every damage in what all standing queries share, and `log repair` lets them go on."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from live.test_damaged_logs import COUNTS, feed, field, finish, killed, segments
from nilometer.cli.main import application
from nilometer.live.control import Control, ask, folder_of
from nilometer.live.damage import repair_query, repair_shared, verify_query, verify_shared
from nilometer.live.standing import result_log
from nilometer.live.starts import BEGINNING
from nilometer.live.state_files import PLACE as STATES
from nilometer.live.station import Station
from nilometer.log.local_files import LocalFiles
from nilometer.log.results import shared_log
from nilometer.log.results.shared_log import SharedLog


def stopped(folder: Path) -> Path:
    """A field whose standing query was stopped in order. Returns the file with its state."""
    feed(folder, 0, 60)
    database = field(folder)
    with Station(database, folder) as station:
        station.install(database.sql(COUNTS), "counts", start=BEGINNING, durable=True)
        finish(station)
    (found,) = (path for path in (folder / STATES).iterdir() if path.is_file())
    return found


def damages(folder: Path) -> list[str]:
    return [damage.what for checked in verify_shared(folder) for damage in checked.verdict.damages]


@pytest.mark.promise("verify-reads-all")
def test_a_flipped_bit_anywhere_in_a_saved_state_is_found(tmp_path: Path) -> None:
    file = stopped(tmp_path)
    whole = file.read_bytes()
    assert damages(tmp_path) == []
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        file.write_bytes(flipped)
        assert damages(tmp_path), f"byte {place} of {len(whole)}"


@pytest.mark.promise("repair")
def test_a_repaired_state_is_made_again_and_answers_the_same(tmp_path: Path) -> None:
    file = stopped(tmp_path)
    file.write_bytes(file.read_bytes()[:-9])
    told = CliRunner().invoke(application, ["log", "verify", "--data", str(tmp_path)])
    assert told.exit_code == 1
    assert "all queries, state: damaged" in told.output
    repaired = CliRunner().invoke(application, ["log", "repair", "--data", str(tmp_path)])
    assert "moved aside" in repaired.output
    assert damages(tmp_path) == []
    feed(tmp_path, 60, 30)
    database = field(tmp_path)
    with Station(database, tmp_path) as station:
        station.install(database.sql(COUNTS), "counts", durable=True)
        station.install(database.sql(COUNTS), "anew", start=BEGINNING, durable=True)
        finish(station)
    counts, anew = (pl.concat(list(result_log(tmp_path, name).answers())) for name in ("counts", "anew"))
    assert_frame_equal(counts, anew)


@pytest.mark.promise("verify-reads-all")
def test_a_request_that_cannot_be_read_is_found_and_put_aside(tmp_path: Path) -> None:
    stopped(tmp_path)
    ask(tmp_path, "counts", Control(paused=True))
    (folder_of(tmp_path, "counts") / "control.json").write_text("{")
    told = [damage.what for checked in verify_query(tmp_path, "counts") for damage in checked.verdict.damages]
    assert told == ["the request to query 'counts' cannot be read"]
    (remark,) = (remark for done in repair_query(tmp_path, "counts") for remark in done.remarks)
    assert remark.endswith("if 'counts' was paused, pause it again")
    assert not any(checked.verdict.damages for checked in verify_query(tmp_path, "counts"))


@pytest.mark.promise("lost-answers")
def test_a_state_of_a_lost_commit_is_found_and_put_aside(tmp_path: Path) -> None:
    stopped(tmp_path)
    last = sorted((tmp_path / shared_log.PLACE).glob("*.segment"))[-1]
    last.with_suffix(".index").unlink(missing_ok=True)
    records = last.read_bytes().split(b"NLG1")
    last.write_bytes(b"NLG1".join(records[:-2])[:-8])
    shared_log.forget_indexes()
    assert any("the commit log ends with commit" in what for what in damages(tmp_path))
    assert [done.moved for done in repair_shared(tmp_path)][-1] == ["quarantine/1-state"]
    shared_log.forget_indexes()
    assert damages(tmp_path) == []


def test_a_log_whose_only_segment_is_gone_is_verified_with_the_others(tmp_path: Path) -> None:
    killed(tmp_path, segment_bytes=1 << 20)
    for path in segments(tmp_path):
        path.unlink()
    told = CliRunner().invoke(application, ["log", "verify", "--data", str(tmp_path)])
    assert told.exit_code == 1
    assert "air: damaged" in told.output
    assert "it has lost its end" in told.output
    assert "all queries, commits: whole" in told.output


def test_a_commit_log_that_cannot_be_read_is_not_kept_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path)

    def unreadable(_: LocalFiles) -> None:
        raise OSError("no luck")

    with monkeypatch.context() as patch:
        patch.setattr(shared_log, "index_of_files", unreadable)
        with pytest.raises(OSError, match="no luck"):
            SharedLog(tmp_path)
    SharedLog(tmp_path).close()
