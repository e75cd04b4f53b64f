"""A query's version is made of meaning: other declarations are a new version that neither doubles nor loses a window,
another wording of EXPLAIN is none; the files of the previous release are taken over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from live.test_damaged_logs import COUNTS, feed, field, finish
from nilometer.engine import connect
from nilometer.live import state_files, versions
from nilometer.live.checkpoints import MANIFEST, Checkpoints
from nilometer.live.control import folder_of
from nilometer.live.standing import result_log, result_logs
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.versions import identity, version_of
from nilometer.log import LogDirectory
from nilometer.log.formats import FormatError
from nilometer.log.local_files import LocalFiles
from nilometer.log.record import Encoder, RecordKind
from nilometer.log.results import shared_log
from nilometer.log.segment import INDEX, SEGMENT

KEPT = Path(__file__).parent / "previous_release"
PINNED = "74233a77061bbffe"
WARM = "SELECT id, x FROM air WHERE x > 3"


def answers(folder: Path, name: str) -> pl.DataFrame:
    return pl.concat([frame for log in result_logs(folder, name) for frame in log.answers()])


def run(folder: Path, declared: str, *, crash: bool) -> list[str]:
    """Run the query to the end of what there is. Returns what it says at the start."""
    database = field(folder, declared)
    station = Station(database, folder)
    live = station.install(database.sql(COUNTS), "counts", start=BEGINNING, durable=True)
    finish(station)
    if crash:
        station.abandon()
    else:
        station.close()
    return [live.note or ""]


@pytest.mark.promise("other-declarations")
@pytest.mark.parametrize("crash", [True, False])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("DELAY 2 MINUTES", "DELAY 20 MINUTES"),
        ("DELAY 20 MINUTES", "DELAY 2 MINUTES"),
        ("DELAY 2 MINUTES", "DELAY 2 MINUTES KEY (id, time)"),
        ("DELAY 2 MINUTES FUTURE 10 SECONDS", "DELAY 2 MINUTES FUTURE 5 MINUTES"),
    ],
)
def test_other_declarations_neither_double_nor_lose_a_window(
    tmp_path: Path, before: str, after: str, crash: bool
) -> None:
    feed(tmp_path, 0, 33)
    run(tmp_path, before, crash=crash)
    feed(tmp_path, 33, 30)
    (said,) = run(tmp_path, after, crash=crash)
    assert "has changed: a new version goes on with its state" in said
    feed(tmp_path, 63, 60)
    (said,) = run(tmp_path, after, crash=False)
    assert "changed" not in said
    got = answers(tmp_path, "counts")
    assert not got.select("tick", "id").is_duplicated().any()
    ticks = got["tick"].unique().sort()
    assert ticks.diff().drop_nulls().unique().to_list() == [5 * 60_000_000], "no window is missing"
    assert ticks.len() > 15
    assert got.slice(2)["n"].unique().to_list() == [5], "no reading is missing or double"


@pytest.mark.promise("wording")
def test_the_wording_of_explain_is_in_no_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(tmp_path, 0, 33)
    run(tmp_path, "DELAY 2 MINUTES", crash=False)
    monkeypatch.setattr(versions, "explain_text", lambda plan: "another wording")
    feed(tmp_path, 33, 30)
    (said,) = run(tmp_path, "DELAY 2 MINUTES", crash=False)
    assert said == "counts goes on after 12 rows"


def test_an_identity_is_of_what_the_query_means(tmp_path: Path) -> None:
    database = field(tmp_path)
    same = "select id, count(*)   as n from air [RANGE 300 SECONDS SLIDE 5 MINUTES] group by id"
    other = COUNTS.replace("5 MINUTES", "6 MINUTES")
    version = version_of(database.sql(COUNTS))
    assert version_of(database.sql(same)) == version
    assert not version_of(database.sql(other)).same_plan(version.name)
    more = connect(tmp_path)
    more.execute("CREATE STREAM wind (id INT, speed FLOAT) PUSHED")
    assert version_of(more.sql(COUNTS)) == version
    moved = (tmp_path / "schema.sql").read_text().replace("(x FLOAT)", "(x FLOAT, y FLOAT)")
    (tmp_path / "schema.sql").write_text(moved.replace("batch=10", "batch=11"))
    assert version_of(connect(tmp_path).sql(COUNTS)) == version, (
        "an address and an unused column are no meaning"
    )
    assert identity(database.sql(COUNTS).logical) == PINNED, "an identity that changes empties every state"


# ---- the files of the previous release -------------------------------------------------------------------------------


def previous(folder: Path) -> None:
    """A data directory that the previous release left when it was killed; its standing queries are at 0:00 + 63 minutes."""
    shutil.copytree(KEPT, folder / ".nilometer")


@pytest.mark.promise("older-files")
def test_the_previous_release_is_taken_over(tmp_path: Path) -> None:
    previous(tmp_path)
    feed(tmp_path, 63, 60)
    database = field(tmp_path, "KEY (id, time) DELAY 2 MINUTES")
    before = {name: result_log(tmp_path, name).rows for name in ("counts", "warm")}
    with Station(database, tmp_path) as station:
        notes = {}
        for name, text in (("counts", COUNTS), ("warm", WARM)):
            notes[name] = station.install(database.sql(text), name, durable=True).note
            station.install(database.sql(text), f"{name}_anew", start=BEGINNING, durable=True)
        finish(station)
    rebuilt = "; its checkpoint is of another release: the state is rebuilt from the logs"
    assert notes == {
        "counts": f"counts goes on after {before['counts']} rows{rebuilt}",  # windows share slices now
        "warm": f"warm goes on after {before['warm']} rows",
    }
    for name in notes:
        assert answers(tmp_path, name).equals(answers(tmp_path, f"{name}_anew")), name
    assert answers(tmp_path, "counts").height > before["counts"]


def newer_record(folder: Path) -> None:
    """A record of a kind that a newer release may write."""
    file = max((folder / ".nilometer" / "log" / "air").glob("*" + SEGMENT))
    kind: RecordKind = 99  # type: ignore[assignment]
    data, _ = Encoder().encode(kind, position=126, number=14)
    file.write_bytes(file.read_bytes() + bytes(data))


def newer_magic(folder: Path) -> None:
    """A record of a newer framing."""
    file = max((folder / ".nilometer" / "log" / "air").glob("*" + SEGMENT))
    data, _ = Encoder().encode(RecordKind.ROWS, position=126, number=14)
    file.write_bytes(file.read_bytes() + bytes(data).replace(b"NLG1", b"NLG2"))


def newer_index(folder: Path) -> None:
    file = min((folder / ".nilometer" / "log" / "air").glob("*" + INDEX))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 2}))


def newer_checkpoint(folder: Path) -> None:
    files = LocalFiles(folder_of(folder, "counts") / "state")
    saved = Checkpoints(files).load()
    assert saved is not None
    Checkpoints(files).save(saved)
    whole = json.loads(bytes(files.read(MANIFEST)))
    body = whole["manifest"].replace('"format": 1', '"format": 2')
    from nilometer.live.checkpoints import _checksum

    files.replace(MANIFEST, json.dumps({"checksum": _checksum(body), "manifest": body}).encode())


@pytest.mark.promise("newer-files")
@pytest.mark.parametrize("newer", [newer_record, newer_magic, newer_index, newer_checkpoint])
def test_files_of_a_newer_release_are_refused_and_left_alone(tmp_path: Path, newer: object) -> None:
    previous(tmp_path)
    newer(tmp_path)  # type: ignore[operator]
    place = tmp_path / ".nilometer"
    was = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    database = field(tmp_path, "KEY (id, time) DELAY 2 MINUTES")
    log = LogDirectory(tmp_path).log("air")
    with Station(database, tmp_path) as station:

        def meet() -> None:
            if newer is newer_index:
                log.tail(1_000)
            station.install(database.sql(COUNTS), "counts", durable=True)

        with pytest.raises(FormatError, match="this release of Nilometer knows"):
            meet()
    assert all(file.read_bytes() == data for file, data in was.items())


@pytest.mark.promise("newer-files")
@pytest.mark.parametrize("stamped", [state_files, shared_log])
def test_a_state_and_a_commit_log_of_a_newer_release_are_refused(
    tmp_path: Path, stamped: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(tmp_path, 0, 33)
    with monkeypatch.context() as newer:
        newer.setattr(stamped, "FORMAT", 2)
        run(tmp_path, "DELAY 2 MINUTES", crash=False)
    with pytest.raises(FormatError, match="format 2, and this release of Nilometer knows up to 1"):
        run(tmp_path, "DELAY 2 MINUTES", crash=False)
