"""Queries, views and streams come, change and go in a running database; a control log says where each began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from live.owner.owners import client_of, fetch, field, owned, write
from nilometer.engine import Database, connect
from nilometer.errors import CatalogError, ConfigurationError, DataError, NilometerError
from nilometer.live.control import folder_of
from nilometer.live.damage import repair_shared, verify_shared
from nilometer.live.declared_versions import versions_at
from nilometer.live.owner.changes import take_up
from nilometer.live.owner.client import Asking
from nilometer.live.owner.control_log import VERSIONS, ControlLog, Record
from nilometer.live.owner.owner import Owner
from nilometer.live.roster import Roster
from nilometer.log import LogDirectory, Offset
from nilometer.optimizer import optimize

SUMS = "SELECT id, SUM(x) AS total FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id"


@contextmanager
def serving(folder: Path) -> Iterator[Owner]:
    """What `nilometer serve` does, in a thread."""
    database = connect(folder)
    with owned(database) as owner:

        def begin() -> None:
            assert database.keeping is not None
            database.keeping.refresh(owner=False)
            database.keeping = None
            roster = Roster(owner.station, database.catalog.queries())
            owner.changes = take_up(database, roster, lambda _: None)
            roster.begin(alone=False)

        owner.submit(begin)
        yield owner


def answered(database: Database, name: str, count: int) -> list[dict[str, object]]:
    """The first answers of a standing query, as soon as there are that many."""
    found = []
    for row in database.answers(name, follow=True):
        found.append(row)
        if len(found) == count:
            break
    return found


def reference(database: Database, text: str) -> list[dict[str, object]]:
    return list(database.sql(text).run("reference", finished=False))


def test_a_query_is_created_changed_and_dropped_while_it_runs(tmp_path: Path) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 5)
    with serving(tmp_path) as owner:
        database.execute(f"CREATE QUERY sums STARTING AT BEGINNING AS {SUMS}")
        assert database.told == ["sums begins"]
        whole = reference(database, SUMS)
        assert answered(database, "sums", 4) == whole[:4]
        other = connect(tmp_path)
        assert [query.name for query in other.catalog.queries()] == ["sums"]
        other.execute("PAUSE QUERY sums")
        assert not owner.submit(lambda: list(owner.station.queries))
        other.execute("RESUME QUERY sums")
        assert owner.submit(lambda: list(owner.station.queries)) == ["sums"]
        write(tmp_path, 5, 6)
        answered(database, "sums", 8)
        database.execute("DROP QUERY sums")
        assert not owner.submit(lambda: list(owner.station.queries))
        assert not folder_of(tmp_path, "sums").exists()
        with pytest.raises(ConfigurationError, match="no standing query 'sums'"):
            list(other.answers("sums"))


@pytest.mark.parametrize("state", ["", "KEEP STATE", "BACKFILL"])
def test_a_changed_query_has_no_half_filled_window(tmp_path: Path, state: str) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 9)
    having = f"{SUMS} HAVING SUM(x) > 10"
    with serving(tmp_path):
        database.execute(f"CREATE QUERY sums STARTING AT BEGINNING AS {SUMS}")
        before = len(answered(database, "sums", 8))
        database.execute(f"REPLACE QUERY sums {state} AS {having}")
        assert ("keeps its state" in database.told[0]) == (state != "BACKFILL")
        write(tmp_path, 9, 8)
        rows = answered(database, "sums", before + 4)
        later = [row for row in reference(database, having) if row["tick"] > rows[before - 1]["tick"]]
        assert rows[before:] == later[:4]


def test_a_changed_threshold_keeps_the_state(tmp_path: Path) -> None:
    """STEAM's [4]: mining is online. The first answer is that of a query that had the threshold from the beginning."""
    database = field(tmp_path)
    write(tmp_path, 0, 12)
    strict = (
        "SELECT * FROM PATTERNS(air, x BREAKS (7) EVERY 1 MINUTE PERIOD 2 CONFIDENCE 0.6) "
        "[UNBOUNDED SLIDE 2 MINUTES]"
    )
    loose = strict.replace("0.6", "0.1")
    with serving(tmp_path):
        database.execute(f"CREATE QUERY patterns STARTING AT BEGINNING AS {strict}")
        before = len(answered(database, "patterns", len(reference(database, strict))))
        database.execute(f"REPLACE QUERY patterns KEEP STATE AS {loose}")
        assert "keeps its state" in database.told[0]
        write(tmp_path, 12, 8)
        rows = answered(database, "patterns", before + 20)
    since, until = rows[before - 1]["tick"], rows[-1]["tick"]
    expected = [row for row in reference(database, loose) if since < row["tick"] < until]  # type: ignore[operator]
    given = [row for row in rows[before:] if row["tick"] < until]  # type: ignore[operator]
    assert any("1" in str(row["pattern"]) for row in given), "the lower threshold shows more"
    assert sorted(map(str, given)) == sorted(map(str, expected))


def test_a_wider_window_is_read_from_the_log_and_keep_state_is_refused(tmp_path: Path) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 9)
    wider = SUMS.replace("4 MINUTES", "6 MINUTES")
    with serving(tmp_path):
        database.execute(f"CREATE QUERY sums STARTING AT BEGINNING AS {SUMS}")
        before = len(answered(database, "sums", 8))
        with pytest.raises(ConfigurationError, match="another state"):
            database.execute(f"REPLACE QUERY sums KEEP STATE AS {wider}")
        database.execute(f"REPLACE QUERY sums AS {wider}")
        assert "its first window is complete" in database.told[0]
        write(tmp_path, 9, 8)
        rows = answered(database, "sums", before + 4)
    later = [row for row in reference(database, wider) if row["tick"] > rows[before - 1]["tick"]]
    assert rows[before:] == later[:4]


def test_a_query_that_is_created_while_nobody_serves_begins_where_the_log_was(tmp_path: Path) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 5)
    rows = database.sql("SELECT * FROM air").live(start="beginning")
    assert len([next(rows) for _ in range(10)]) == 10
    rows.close()
    database.execute("CREATE QUERY every AS SELECT id, x FROM air")
    assert "serve runs it" in database.told[0]
    assert ControlLog(tmp_path).declared["QUERY", "every"].offsets["air"].position == 10
    write(tmp_path, 5, 2)
    with serving(tmp_path):
        assert len(answered(database, "every", 4)) == 4
    assert [row["x"] for row in connect(tmp_path).answers("every")] == [6.0, 7.0, 7.0, 8.0]


def test_a_first_start_plans_each_query_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    field(tmp_path, "".join(f"CREATE QUERY q{n} AS SELECT id, x FROM air WHERE x > {n};\n" for n in range(5)))
    planned: list[object] = []

    def counted(plan: Any, *more: Any) -> Any:
        planned.append(plan)
        return optimize(plan, *more)

    monkeypatch.setattr("nilometer.optimizer.optimize", counted)
    with serving(tmp_path) as owner:
        assert owner.submit(lambda: len(owner.station.queries)) == 5
    assert len(planned) == 5


def test_schema_sql_is_the_declared_state(tmp_path: Path) -> None:
    database = field(tmp_path, "CREATE QUERY sums AS SELECT id, x FROM air;\n")
    script = (tmp_path / "schema.sql").read_text()
    with serving(tmp_path) as owner:
        database.execute("CREATE QUERY mine AS SELECT id FROM air")
        changed = (
            script.replace("SELECT id, x", "SELECT x")
            + "CREATE VIEW low AS SELECT id, x FROM air WHERE x < 3;"
        )
        (tmp_path / "schema.sql").write_text(changed)
        assert database.keeping is not None
        asked = database.keeping.request("apply", script=changed, dry_run=True, drops=False)
        assert [step[:3] for step in asked["steps"]] == [
            ["DROP", "QUERY", "mine"],
            ["REPLACE", "QUERY", "sums"],
            ["CREATE", "VIEW", "low"],
        ]
        database.keeping.request("apply", script=changed, dry_run=False, drops=True)
        assert owner.submit(lambda: list(owner.station.queries)) == ["sums"]
        assert connect(tmp_path).catalog.view("low") is not None
    assert [query.text for query in connect(tmp_path).catalog.queries()] == ["SELECT x FROM air"]


def test_a_stream_that_is_read_is_not_dropped(tmp_path: Path) -> None:
    database = field(tmp_path)
    with serving(tmp_path):
        database.execute(
            "CREATE VIEW warm AS SELECT id, x FROM air WHERE x > 3; CREATE QUERY q AS SELECT id FROM warm"
        )
        for statement, reader in (("DROP STREAM air", "warm"), ("DROP VIEW warm", "q")):
            with pytest.raises(CatalogError, match=f"is read by {reader}"):
                database.execute(statement)
        database.execute("DROP QUERY q; DROP VIEW warm")
        with pytest.raises(NilometerError):
            connect(tmp_path).sql("SELECT id FROM warm")


def test_a_key_that_is_declared_later_holds_from_the_next_reading_on(tmp_path: Path) -> None:
    """Two standing queries and a client's read the stream. None of them keeps the old entrance open."""
    field(tmp_path)
    keyed = (tmp_path / "schema.sql").read_text().replace(" KEY", " DELAY 20 MINUTES KEY")
    (tmp_path / "schema.sql").write_text(keyed.replace(" KEY (id, time)", ""))
    write(tmp_path, 0, 3)
    write(tmp_path, 0, 3, "again")
    with serving(tmp_path) as owner, ExitStack() as clients:
        database = connect(tmp_path)
        for name in ("one", "two"):
            database.execute(f"CREATE QUERY {name} STARTING AT BEGINNING AS SELECT id, time FROM air")
            assert len(answered(database, name, 12)) == 12  # doubles count: there is no KEY yet
        client = clients.enter_context(client_of(database))
        asking = Asking("SELECT id, time FROM air", start="beginning")
        asking.install(client)
        database.execute(keyed.replace("CREATE", "REPLACE").strip().rstrip(";"))
        assert owner.submit(lambda: sorted(owner.station.queries)) == ["one", "two"]
        with pytest.raises(ConfigurationError, match="stream 'air' was replaced while the query read it"):
            fetch(client, asking, 13)
        write(tmp_path, 3, 2)
        write(tmp_path, 3, 2, "again")
        write(tmp_path, 7, 1)
        assert len(answered(database, "one", 18)) == 18
        ledger = owner.submit(lambda: owner.station.manager.status("air").ledger)
        assert ledger.duplicate == 4
    with LogDirectory(tmp_path).log(database.catalog.stream("air")) as log:
        rows = pl.concat(entry.rows for entry in log.read() if entry.rows is not None)
    assert (rows.height, rows.unique(["id", "time"]).height) == (18, 12)


def test_a_torn_record_never_was_and_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    log = ControlLog(tmp_path)
    for number in range(3):
        log.append(
            Record("CREATE", "QUERY", f"q{number}", "CREATE QUERY ...", offsets={"air": Offset(1, number)})
        )
    path = tmp_path / ".nilometer" / "control"
    whole = path.read_bytes()
    assert ControlLog(tmp_path).declared == log.declared
    path.write_bytes(whole[:-5])
    torn = ControlLog(tmp_path)
    assert [name for _, name in torn.declared] == ["q0", "q1"]
    torn.append(Record("DROP", "QUERY", "q0"))
    assert [name for _, name in ControlLog(tmp_path).declared] == ["q1"]
    path.write_bytes(b"x" + whole[1:])
    with pytest.raises(DataError, match="line 1 of the control log is damaged"):
        ControlLog(tmp_path)


def test_a_rewritten_control_log_keeps_the_newest_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nilometer.live.owner.control_log.SPARE", 5)
    log = ControlLog(tmp_path)
    log.append(Record("CREATE", "STREAM", "air", "CREATE STREAM air ..."))
    for number in range(200):
        what = "REPLACE" if number else "CREATE"
        log.append(Record(what, "QUERY", "q", f"text {number}", at=number, effect={"air": Offset(1, number)}))
        log.append(Record("PAUSE", "QUERY", "q"))
    again = ControlLog(tmp_path)
    assert again.declared == log.declared
    assert again.versions == log.versions
    assert [one.installed for one in versions_at(tmp_path, "QUERY", "Q")] == list(
        range(199, 199 - VERSIONS, -1)
    )
    assert again.replaced == {("QUERY", "q"): "text 198"}
    assert again.records < 100
    again.append(Record("DROP", "QUERY", "q"))
    assert not versions_at(tmp_path, "QUERY", "q")


@pytest.mark.promise("control-log")
@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_flipped_bit_in_the_control_log_is_found_and_repaired(tmp_path: Path, line: int) -> None:
    """Also in the last line: it is whole, so the client was told that it took effect."""
    log = ControlLog(tmp_path)
    for number in range(3):
        log.append(Record("CREATE", "QUERY", f"q{number}", "CREATE QUERY ..."))
    path = tmp_path / ".nilometer" / "control"
    lines = path.read_bytes().splitlines(keepends=True)
    sound = lines[0]
    lines[line] = lines[line].replace(b"CREATE QUERY", b"CREATE QUESY")
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match=f"line {line + 1} of the control log is damaged"):
        ControlLog(tmp_path)
    (checked,) = verify_shared(tmp_path)
    assert [damage.what for damage in checked.verdict.damages] == [
        f"line {line + 1} of the control log is damaged"
    ]
    (repaired,) = repair_shared(tmp_path)
    assert repaired.moved == ["quarantine/1-control"]
    assert [name for _, name in ControlLog(tmp_path).declared] == [f"q{n}" for n in range(3) if n != line]
    path.write_bytes(sound + lines[1][:10] + bytes(50) + b"\n")
    assert ControlLog(tmp_path).cut == 61, "sectors that were never written are zeros"


def test_the_example_of_a_query_outlives_restarts(tmp_path: Path) -> None:
    """SIMILAR_TO ... OF: the owner reads the log when the query is installed, and keeps what it found."""
    database = field(tmp_path)
    write(tmp_path, 0, 30)
    with serving(tmp_path):
        rows = database.sql("SELECT * FROM air").live(start="beginning")
        assert len([next(rows) for _ in range(58)]) == 58  # the log has them
        rows.close()
        like = "SELECT * FROM SIMILAR_TO(air, x, OF 2 AT '2026-01-01T00:09:00Z' LENGTH 5 EVERY 1 MINUTE WITHIN 0.1)"
        database.execute(f"CREATE QUERY alike STARTING AT BEGINNING AS {like}")
        found = answered(database, "alike", 4)
    assert {row["distance"] for row in found} == {0.0}
    kept = tmp_path / ".nilometer" / "examples" / "alike.json"
    before = kept.read_bytes()
    with serving(tmp_path):
        write(tmp_path, 30, 14)
        assert len(answered(connect(tmp_path), "alike", 6)) == 6
        database.execute(f"REPLACE QUERY alike KEEP STATE AS {like.replace('0.1', '0.2')}")
        assert "keeps its state" in database.told[0]
        assert kept.read_bytes() != before
        database.execute("DROP QUERY alike")
    assert not kept.exists()
