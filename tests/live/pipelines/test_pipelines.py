"""Standing queries in one pipeline: the gateway's answers, one commit a round, queries that come, go, fail and crash."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest

from live.pipelines.in_process import RUNS, pump, without_spark
from log.logs import CrashError, FailAt, no_space
from nilometer.engine import Database, connect
from nilometer.errors import InternalError, ResourceError
from nilometer.live.kept_answers import kept_answers
from nilometer.live.outside import Outside
from nilometer.live.owner.owner import Owner
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogSettings
from nilometer.log.failpoints import Failpoint
from nilometer.log.writer import BusyError
from nilometer.plan.reference import same_answer
from nilometer.spark.running import PROCESS_DIED
from nilometer.spark.shared.graph_flow import GraphFlow
from nilometer.spark.shared.round_work import _FLOWS
from nilometer.spark.shared.rounds import Round, RoundResult
from nilometer.spark.shared.ways import why_whole
from nilometer.types import MINUTE

START = 1_767_225_600_000_000
QUERIES = {
    "hot": "SELECT id, x FROM air WHERE x > 2",
    "all": "SELECT * FROM air",
    "means": "SELECT id, AVG(x) AS mean FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id",
    "tops": "SELECT MAX(x) AS top FROM air [RANGE 7 ROWS SLIDE 3 ROWS]",
    "before": "SELECT id, x, LAG(x) OVER (PARTITION BY id ORDER BY time) AS last FROM air",
    "both": "SELECT a.id, a.x, b.y FROM air a, rain b WINDOW (a, b) = 2 MINUTES WHERE a.id = b.id",
    "joined": "SELECT a.id, a.x, b.y FROM air [RANGE 2 MINUTES SLIDE 1 MINUTE] a,"
    " rain [RANGE 1 MINUTE SLIDE 1 MINUTE] b WHERE a.id = b.id",
    "silent": "SELECT id FROM SILENT(air FOR 3 MINUTES)",
    "lately": "SELECT id, COUNT(*) AS n, MEDIAN(x) AS x FROM air [RANGE 3 MINUTES] GROUP BY id",
    "together": "SELECT a.id, a.x, b.y FROM air [RANGE 2 MINUTES] a, rain [NOW] b WHERE a.id = b.id",
    "chosen": "SELECT id, SUM(x) AS s FROM (SELECT * FROM air WHERE x > 1) [RANGE 3 MINUTES] GROUP BY id",
}


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    _FLOWS.clear()  # a process of its own for each test
    with without_spark(monkeypatch):
        yield


def write(folder: Path, first: int, count: int) -> None:
    chance = random.Random(first)
    for stream, column in (("air", "x"), ("rain", "y")):
        minutes = [minute for minute in range(first, first + count) for _ in (1, 2)]
        frame = {
            "time": [START + (minute - chance.choice((0, 0, 0, 2))) * MINUTE for minute in minutes],
            "id": [1, 2] * count,
            column: [float(chance.randrange(5)) for _ in minutes],
        }
        (folder / stream).mkdir(exist_ok=True)
        pl.DataFrame(frame).write_csv(folder / stream / f"{first:05d}.csv")


def field(folder: Path, names: list[str]) -> Database:
    """A field without files: those that are there when a database is opened are data at hand, and not read live."""
    lines = [
        f"CREATE STREAM {stream} ({column} FLOAT) PUSHED FROM 'directory://{folder}/{stream}?batch=5' DELAY 1 MINUTE;"
        for stream, column in (("air", "x"), ("rain", "y"))
    ]
    lines += [f"CREATE QUERY {name} STARTING AT BEGINNING AS {QUERIES[name]};" for name in names]
    (folder / "schema.sql").write_text("\n".join(lines))
    (folder / "nilometer.toml").write_text("[spark]\nmax_rows = 7\n")
    return connect(folder)


def life(database: Database, folder: Path, outside: Outside | None = None) -> list[str]:
    said: list[str] = []
    with Station(database, folder, None, outside) as station:
        Roster(station, database.catalog.queries(), on="spark", say=said.append).begin()
        station.run(pump)
        assert not [live.failure for live in station.queries.values() if live.failure]
    return said


def check(database: Database, names: list[str]) -> None:
    for name in names:
        expected = database.query(name).run("gateway", finished=False)
        found = [row for answer in kept_answers(database, name, 0) for row in answer.rows]
        difference = same_answer(expected.rows, found)
        assert difference is None, f"{name}: {difference}"


def test_all_queries_answer_as_on_the_gateway_through_restarts(tmp_path: Path) -> None:
    database = field(tmp_path, list(QUERIES))
    for number in range(3):
        write(tmp_path, 12 * number, 12)
        life(database, tmp_path)
        check(database, list(QUERIES))
    assert all(query.host == "spark" for query in database.queries())
    assert not (tmp_path / ".nilometer" / "pipelines").exists(), "a run that has ended leaves nothing"


def test_the_parts_of_a_pipeline_answer_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Some rounds are large enough for tasks, some are not, and processes forget the parts that they have run.
    monkeypatch.setattr("nilometer.spark.shared.round_work.CALM", 2)
    monkeypatch.setattr("nilometer.live.pipelines.pipeline.CHECKPOINT_EVERY", 0)
    names = list(QUERIES)
    database = field(tmp_path, names)
    for number, parts in enumerate((2, 2, 3, 1)):
        (tmp_path / "nilometer.toml").write_text(f"[spark]\nmax_rows = 7\nparts = {parts}\ntask_rows = 6\n")
        write(tmp_path, 12 * number, 12)
        life(database, tmp_path)
        check(database, names)
    whole = {name: why_whole(database.query(name).physical) for name in names}
    assert [name for name, why in whole.items() if why is None] == [
        "means",
        "joined",
        "lately",
        "together",
    ], whole


def test_rows_that_are_set_aside_have_no_evaluations_in_any_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = "SELECT id, EXTRACT(MINUTE FROM time) * 2000000000000000000 AS y FROM air"
    monkeypatch.setitem(
        QUERIES, "grown", f"SELECT id, MAX(y) AS y FROM ({grown}) [RANGE 3 MINUTES] GROUP BY id"
    )
    answers = []
    for parts in (1, 2):
        folder = tmp_path / str(parts)
        folder.mkdir()
        write(folder, 0, 12)
        database = field(folder, ["grown"])
        (folder / "nilometer.toml").write_text(f"[spark]\nmax_rows = 7\nparts = {parts}\n")
        life(database, folder)
        answers.append([row for answer in kept_answers(database, "grown", 0) for row in answer.rows])
    assert answers[0], "the first minutes have products that fit"
    assert same_answer(*answers) is None


def test_a_state_that_does_not_fit_is_not_taken_by_the_next_run_either(tmp_path: Path) -> None:
    """With another number of parts the states are made again. Until the first save, the saved ones are still the old ones."""
    names = ["hot", "means", "lately"]
    now = [START]

    def clock() -> int:
        now[0] += MINUTE
        return now[0]

    database = field(tmp_path, names)
    write(tmp_path, 0, 12)
    life(database, tmp_path)
    write(tmp_path, 12, 12)
    (tmp_path / "nilometer.toml").write_text("[spark]\nmax_rows = 7\nparts = 2\n")
    with Station(database, tmp_path, None, Outside(clock=clock)) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        RUNS[0].failure, RUNS[0].active = ResourceError("an executor is lost"), False
        station.run(pump)
        assert not any(live.failure or live.trouble for live in station.queries.values())
    check(database, names)


@pytest.mark.parametrize("host", ["gateway", "spark"])
def test_states_that_a_run_was_given_are_not_kept(tmp_path: Path, host: str) -> None:
    """Neither in the owner, nor in the processes that ran earlier runs of the pipeline."""
    names = ["means", "tops"]
    database = field(tmp_path, names)
    write(tmp_path, 0, 12)
    with Station(database, tmp_path) as station:
        Roster(station, database.catalog.queries(), on=host).begin()
        station.run(pump)
    write(tmp_path, 12, 12)
    now = [START]

    def clock() -> int:
        now[0] += MINUTE
        return now[0]

    with Station(database, tmp_path, None, Outside(clock=clock)) as station:
        Roster(station, database.catalog.queries(), on=host).begin()
        for _ in range(3):
            station.step()
            pump()
            commits = station._shared.commits
            assert not commits.states._loaded
            assert not any(query.recovered and query.recovered.panes for query in commits.queries.values())
            for run in RUNS:
                assert {folder for folder, _ in _FLOWS} == {str(run._folder)}
                run.failure, run.active = ResourceError("an executor is lost"), False


def test_a_query_goes_on_over_logs_that_were_trimmed(tmp_path: Path) -> None:
    """Its state is made again from what is left, at the start and when the pipeline begins again, and what it has not read is
    skipped and counted."""
    names = ["hot", "means", "lately"]
    now = [START]

    def clock() -> int:
        now[0] += MINUTE
        return now[0]

    def station_of(database: Database, folder: Path) -> Station:
        settings = StationSettings(logging=LogSettings(segment_bytes=1, least_bytes=1))
        return Station(database, folder, settings, Outside(clock=clock))

    def trim(station: Station) -> int:
        log = station.logs.log("air")
        before = log.start.position
        log.trim(START + 5 * MINUTE, force=True)
        assert log.start.position > before
        return log.start.position

    for folder in (whole := tmp_path / "whole", trimmed := tmp_path / "trimmed"):
        folder.mkdir()
        database = field(folder, names)
        for number in range(2):
            if number and folder == trimmed:
                (folder / "nilometer.toml").write_text("[spark]\nmax_rows = 7\nparts = 2\n")
            write(folder, 12 * number, 12)
            with station_of(database, folder) as station:
                if number and folder == trimmed:
                    trim(station)
                Roster(station, database.catalog.queries(), on="spark").begin()
                station.run(pump)
                assert not any(live.failure for live in station.queries.values())
    for name in names:
        kept = [
            [row for answer in kept_answers(connect(folder), name, 0) for row in answer.rows]
            for folder in (whole, trimmed)
        ]
        assert same_answer(*kept) is None, name

    unread = tmp_path / "unread"
    unread.mkdir()
    database = field(unread, names)
    write(unread, 0, 12)
    with station_of(database, unread) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        for _ in range(20):
            station.step()
        skipped = trim(station)
        for _ in (1, 2):
            RUNS[0].failure, RUNS[0].active = ResourceError("an executor is lost"), False
            for _ in range(3):
                station.step()
        station.run(pump)
        assert {live.trimmed for live in station.queries.values()} == {skipped}
        assert not any(live.failure or live.trouble for live in station.queries.values())


def test_a_run_has_one_record_for_all_queries(tmp_path: Path) -> None:
    counts = []
    for number, names in enumerate((["hot"], list(QUERIES))):
        folder = tmp_path / str(number)
        folder.mkdir()
        write(folder, 0, 12)
        passed: list[str] = []
        life(field(folder, names), folder, Outside(failpoint=passed.append))
        counts.append(passed.count("after_fsync"))
    # Several groups of queries, by their streams, read their own rounds.
    assert counts[1] <= counts[0] + 12, counts


def passing() -> Callable[[], int]:
    """A clock that goes on by a minute whenever it is looked at."""
    now = [START]

    def clock() -> int:
        now[0] += MINUTE
        return now[0]

    return clock


@pytest.mark.parametrize(
    # In 9, groups merge just after a query has left one; in 11, a query leaves in the round in which it has come.
    "seed",
    [
        0,
        1,
        9,
        11,
        *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 50) if seed not in (9, 11)),
    ],
)
def test_queries_come_and_go_and_processes_die(tmp_path: Path, seed: int) -> None:
    chance, names = random.Random(seed), list(QUERIES)
    database = field(tmp_path, names)
    definitions = {definition.name: definition for definition in database.catalog.queries()}
    for number in range(4):
        write(tmp_path, 8 * number, 8)
        station = Station(database, tmp_path)
        roster = Roster(station, [definitions[name] for name in names if chance.random() < 0.5], on="spark")
        roster.begin(alone=False)
        for _ in range(chance.randrange(30)):
            station.step()
            if chance.random() < 0.7 and RUNS:
                chance.choice(RUNS).pump(chance.choice((1, 2, 5, 1000)))
            name = chance.choice(names)
            if chance.random() < 0.15:
                if name in station.queries:
                    roster.stop(name)
                else:
                    roster.queries[:] = []
                    station.install(
                        database.sql(QUERIES[name]), name, durable=True, on="spark", start="beginning"
                    )
        if chance.random() < 0.6:
            station.abandon()
            RUNS.clear()
        else:
            station.close()
    life(database, tmp_path)
    check(database, names)


LAST_BUT_ONE = "SELECT id, x, LAG(x, 2) OVER (PARTITION BY id ORDER BY time) AS last FROM air"


def rebuild(station: Station) -> None:
    """Replace the text of `before` by one whose state is made from the whole log."""
    station.remove("before")
    query = station.database.sql(LAST_BUT_ONE)
    station.install(query, "before", durable=True, on="spark", state="BACKFILL")


def test_a_state_that_is_made_again_holds_up_nobody(tmp_path: Path) -> None:
    database = field(tmp_path, ["hot", "before"])
    write(tmp_path, 0, 40)
    with Station(database, tmp_path) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        hot = station.queries["hot"]
        while hot.ledger.read < 49:
            station.step()
            RUNS[0].pump(1)
        rebuild(station)
        before, at = station.queries["before"], hot.ledger.read
        for _ in range(3):
            RUNS[0].pump(1)
            station.step()
        assert at < hot.ledger.read < 80
        assert before.ledger.read == 0, "it still reads again"
        station.run(pump)
        assert before.ledger.read == hot.ledger.read == 80
    check(database, ["hot"])


@pytest.mark.parametrize("how", ["stops", "dies", "goes on"])
def test_a_query_may_end_while_its_state_is_made_again(tmp_path: Path, how: str) -> None:
    """Its answers are those that it would have given had it run all along, and its books count each reading once."""
    database = field(tmp_path, ["before"])
    write(tmp_path, 0, 30)
    station = Station(database, tmp_path)
    Roster(station, database.catalog.queries(), on="spark").begin()
    station.run(pump)
    old = station.queries["before"].rows
    rebuild(station)
    for _ in range(2):
        if how == "stops":
            RUNS[0].pump(1)
            station.remove("before")
        elif how == "dies":
            RUNS[0].pump(1)
            station.abandon()
            RUNS.clear()
            station = Station(database, tmp_path)
        else:
            continue
        station.install(database.sql(LAST_BUT_ONE), "before", durable=True, on="spark")
    write(tmp_path, 30, 10)
    station.run(pump)
    books = station.reports.ledger("before")
    station.close()
    assert books.read == 80
    database.execute(f"CREATE QUERY other STARTING AT BEGINNING AS {LAST_BUT_ONE}")
    expected = database.query("other").run("gateway", finished=False)
    found = [row for answer in kept_answers(database, "before", 0) for row in answer.rows]
    assert same_answer(expected.rows[old:], found[old:]) is None


def test_a_query_that_is_replaced_while_its_round_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop goes on. What the run then says of the old query does not concern the new one of its name."""
    monkeypatch.setattr("nilometer.live.pipelines.pipeline.LEAVE_PATIENCE", 0)
    monkeypatch.setattr("nilometer.live.pipelines.pipeline.CHECKPOINT_EVERY", 0)
    database = field(tmp_path, ["hot", "before"])
    write(tmp_path, 0, 30)
    with Station(database, tmp_path) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        while station.queries["before"].ledger.read < 20:
            station.step()
            RUNS[0].pump(1)
        RUNS[0].hangs = True
        station.step()
        RUNS[0].pump(1)
        assert "before" in RUNS[0].late[-1].answers  # of the old query, on their way
        old = station.queries["before"].rows
        rebuild(station)
        RUNS[0].hangs = False
        station.run(pump)
        assert station.reports.ledger("before").read == 60
        assert [live.failure for live in station.queries.values()] == [None, None]
    check(database, ["hot"])
    database.execute(f"CREATE QUERY other STARTING AT BEGINNING AS {LAST_BUT_ONE}")
    expected = database.query("other").run("gateway", finished=False)
    found = [row for answer in kept_answers(database, "before", 0) for row in answer.rows]
    assert same_answer(expected.rows[old:], found[old:]) is None


def test_queries_come_and_go_between_two_intervals_of_the_trigger(tmp_path: Path) -> None:
    database = field(tmp_path, ["hot"])
    (tmp_path / "nilometer.toml").write_text('[spark]\nmax_rows = 7\ntrigger = "60 min"\n')
    write(tmp_path, 0, 12)
    with Station(database, tmp_path) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        for _ in range(3):
            station.step()
            pump()
        read = station.reports.offsets("hot")
        station.install(database.sql(QUERIES["all"]), "all", durable=True, on="spark", start="beginning")
        assert "SP_ACQUIRE" in station.reports.analysis("all")
        assert station.remove("all") != read
        station.step()
        assert station.reports.offsets("hot") == read


@pytest.mark.parametrize(
    ("place", "at"),
    [("before_write", 9), ("during_write", 5), ("after_write", 2), ("after_fsync", 7), ("before_rename", 1)],
)
def test_a_crash_at_any_step_of_a_commit(tmp_path: Path, place: str, at: int) -> None:
    names = ["hot", "means", "both"]
    database = field(tmp_path, names)
    write(tmp_path, 0, 20)
    failing: Failpoint = FailAt(CrashError, at, place)
    station = Station(database, tmp_path, None, Outside(failpoint=failing))
    try:
        Roster(station, database.catalog.queries(), on="spark").begin()
        station.run(pump)
        station.close()
    except CrashError:
        station.abandon()
        RUNS.clear()
    life(database, tmp_path)
    check(database, names)


def test_a_full_disk_is_waited_for(tmp_path: Path) -> None:
    database = field(tmp_path, ["hot", "means"])
    write(tmp_path, 0, 20)
    full = [0]

    def disk(place: str) -> None:
        full[0] += place == "before_write"
        if 4 <= full[0] < 8:
            raise no_space()

    life(database, tmp_path, Outside(failpoint=disk, clock=passing()))
    assert full[0] > 8
    check(database, ["hot", "means"])


def test_a_query_that_fails_stops_alone(tmp_path: Path) -> None:
    database = field(tmp_path, ["hot"])
    write(tmp_path, 0, 12)
    text = "SELECT id, CAST(x AS INT) * 9223372036854775807 AS huge FROM air"
    database.execute(f"CREATE QUERY huge STARTING AT BEGINNING ON ERROR STOP AS {text}")
    with Station(database, tmp_path) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        station.run(pump)
        assert station.queries["hot"].failure is None
        assert station.queries["huge"].failure is not None
        assert "SP_ACQUIRE" in station.reports.analysis("hot") or "FILTER" in station.reports.analysis("hot")
    check(database, ["hot"])


@pytest.mark.parametrize(
    "error",
    [InternalError("of no query"), ResourceError(PROCESS_DIED), KeyError("source air")],
    ids=["error", "death", "bug"],
)
def test_a_pipeline_that_fails_again_and_again_is_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The query that ruins every run is alone in the end: it stops, or tries on if its process dies. The others lose nothing."""
    run = GraphFlow.run

    def ruined(flow: GraphFlow, round_: Round) -> RoundResult:
        if round_.rows and "bad" in flow._members:
            raise error
        return run(flow, round_)

    monkeypatch.setattr(GraphFlow, "run", ruined)
    names = ["hot", "means", "both", "tops", "before"]
    database = field(tmp_path, names)
    database.execute(f"CREATE QUERY bad STARTING AT BEGINNING AS {QUERIES['all']}")
    write(tmp_path, 0, 20)
    with Station(database, tmp_path, None, Outside(clock=passing())) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        station.run(lambda: pump() or all(station.queries[name].finished for name in names))
        failures = [name for name, live in station.queries.items() if live.failure]
        assert failures == ([] if isinstance(error, ResourceError) else ["bad"])
        assert any(live.apart for live in station.queries.values())
    check(database, names)


def test_a_query_that_holds_up_the_others_gets_a_pipeline_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nilometer.spark.shared.graph_flow.LOOK_AFTER", 0)
    seen: list[Mapping[str, int]] = []

    def dearest(times: Mapping[str, int], busy: int, elapsed: int) -> str | None:
        assert busy <= elapsed
        seen.append(times)
        return "before" if len(times) > 1 and times.get("before") else None

    monkeypatch.setattr("nilometer.live.pipelines.pipeline.dearest", dearest)
    names = ["hot", "before", "both"]
    database = field(tmp_path, names)
    for number in range(2):
        write(tmp_path, 12 * number, 12)
        with Station(database, tmp_path) as station:
            Roster(station, database.catalog.queries(), on="spark").begin()
            station.run(pump)
            assert len(RUNS) == 2
            assert {name: bool(live.apart) for name, live in station.queries.items()} == {
                "hot": False,
                "before": True,
                "both": False,
            }
        check(database, names)
    assert any(times.get("before") for times in seen)


@pytest.mark.parametrize("last", ["main", "before"])
def test_a_kill_after_a_pipeline_was_divided_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """The two pipelines stand at different places. The last commit before the kill is of one or the other."""
    monkeypatch.setattr("nilometer.spark.shared.graph_flow.LOOK_AFTER", 0)
    monkeypatch.setattr(
        "nilometer.live.pipelines.pipeline.dearest",
        lambda times, _busy, _elapsed: "before" if {"hot", "before"} <= times.keys() else None,
    )
    names = ["hot", "before"]
    database = field(tmp_path, names)
    write(tmp_path, 0, 30)
    station = Station(database, tmp_path)
    Roster(station, database.catalog.queries(), on="spark").begin()
    for _ in range(8):
        station.step()
    RUNS[0].pump(1)
    station.step()
    main, apart = RUNS
    main.pump()
    if last == "before":
        apart.pump(1)
    ends = [dict(station.reports.offsets(name)) for name in names]
    assert ends[0] != ends[1]
    station.abandon()
    RUNS.clear()
    life(database, tmp_path)
    check(database, names)


def test_a_query_may_have_a_pipeline_of_its_own(tmp_path: Path) -> None:
    database = field(tmp_path, ["hot", "means"])
    with (tmp_path / "nilometer.toml").open("a") as file:
        file.write('trigger = "1 ms"\n[spark.pipelines.slow]\ntrigger = "2 ms"\n')
    write(tmp_path, 0, 12)
    database.execute(f"CREATE QUERY alone STARTING AT BEGINNING IN PIPELINE slow AS {QUERIES['hot']}")
    with Station(database, tmp_path) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        triggers = {run.name: run.trigger for run in RUNS}
        assert triggers == {"pipeline main": 0.001, "pipeline slow": 0.002}
        station.run(pump)
    check(database, ["hot", "means", "alone"])


def test_each_dear_query_gets_a_pipeline_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after one of them was dropped, whose name is free again."""
    monkeypatch.setattr("nilometer.spark.shared.graph_flow.LOOK_AFTER", 0)
    dear = [""]
    monkeypatch.setattr(
        "nilometer.live.pipelines.pipeline.dearest",
        lambda times, _busy, _elapsed: dear[0] if dear[0] in times and len(times) > 1 else None,
    )
    names = ["hot", "before", "tops", "means"]
    database = field(tmp_path, names)
    write(tmp_path, 0, 30)
    with Station(database, tmp_path) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        for dear[0] in ("before", "tops", "means"):
            while not station.queries[dear[0]].apart:
                for run in RUNS:
                    run.pump(1)
                station.step()
            if dear[0] == "tops":
                station.remove("before")
        pipelines = {name: station._pipelines.get(name) for name in ("hot", "tops", "means")}
        assert len({query.pipeline.name for query in pipelines.values() if query is not None}) == 3
        station.run(pump)
    check(database, ["hot", "tops", "means"])


def test_an_owner_deletes_what_killed_runs_left(tmp_path: Path) -> None:
    database = field(tmp_path, ["hot"])
    left = tmp_path / ".nilometer" / "pipelines" / "main-2" / "run" / "base-0-7"

    def leave() -> None:
        left.parent.mkdir(parents=True)
        left.write_bytes(b"the states of all parts")

    leave()
    owner = Owner(tmp_path, lambda: Station(database, tmp_path))
    try:
        assert not left.exists()
        leave()
        with pytest.raises(BusyError):
            Owner(tmp_path, lambda: Station(database, tmp_path))
        assert left.exists(), "deleted by a process that does not own the directory"
    finally:
        owner.close()
