"""Whatever happens in whatever order: the log holds each key once, in order; each query gets the log from where it began; the books balance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.manager.managed import RIVER, Station, some
from ingest.manager.streams import PUSHED, Reading
from log.logs import scratch
from nilometer.dataflow.policy import Policy
from nilometer.dataflow.sources import Batch
from nilometer.log import Offset
from nilometer.types import DAY, MINUTE, SECOND

pytestmark = pytest.mark.slow

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pour"), st.integers(1, 6)),
        st.tuples(st.just("poll"), st.integers(1, 3)),
        st.tuples(st.just("take"), st.integers(0, 2)),
        st.tuples(st.just("come"), st.integers(0, 2)),
        st.tuples(st.just("from the start"), st.integers(0, 2)),
        st.tuples(st.just("go"), st.integers(0, 2)),
        st.tuples(st.just("full"), st.sampled_from(["during_write", "before_fsync", "before_aside"])),
        st.tuples(st.just("room"), st.just(0)),
        st.tuples(st.just("later"), st.just(2 * SECOND)),
        st.tuples(st.just("jump"), st.sampled_from([-DAY, DAY])),
        st.tuples(st.just("break"), st.just(0)),
        st.tuples(st.just("mend"), st.just(0)),
        st.tuples(st.just("die"), st.just(0)),
    ),
    max_size=40,
)


class World:
    """A station, and what its queries have taken."""

    def __init__(self, folder: str, bound: int, queue: int) -> None:
        self.station = Station(Path(folder), backlog_bytes=bound, buffer_bytes=queue)
        self.began: dict[str, int] = {}
        self.taken: dict[str, list[Reading]] = {}
        self.poured = 0

    def do(self, what: str, how: int | str) -> None:
        """One step."""
        station, manager, well = self.station, self.station.manager, self.station.wells["river"]
        query = f"q{how}"
        match what, how:
            case "pour", int(count):
                # The first of them came before.
                well.pour(some(max(0, self.poured - 1), count + 1), arrived=station.clock.now)
                self.poured = max(0, self.poured - 1) + count + 1
            case "poll", int(turns):
                for _ in range(turns):
                    manager.poll()
            case "take", _ if query in self.taken:
                self.take(query)
            case (("come" | "from the start"), _) if query not in self.taken:
                start = None if what == "come" else {"river": Offset()}
                manager.register(query, [RIVER], start)
                self.began[query] = manager.offsets(query)["river"].position
                self.taken[query] = []
            case "go", _ if query in self.taken:
                manager.unregister(query)
                del self.taken[query], self.began[query]
            case "full", str(name):
                station.full.add(name)
            case "room", _:
                station.full.clear()
            case "later", int(duration):
                station.pass_time(duration)
            case "jump", int(distance):
                station.clock.now += distance
            case (("break" | "mend"), _):
                well.broken = what == "break"
            case "die", _:
                self.die()
            case _:
                pass
        if "river" in manager.streams:
            assert manager.status("river").ledger.balanced

    def take(self, query: str) -> bool:
        """One entry."""
        entry = self.station.manager.take(query)
        if entry is not None and isinstance(entry[1], Batch):
            self.taken[query] += entry[1].rows.rows()
        return entry is not None

    def die(self) -> None:
        """The process dies; its queries go on where they were."""
        offsets = {query: self.station.manager.offsets(query) for query in self.taken}
        self.station.restart()
        for query, start in offsets.items():
            self.station.manager.register(query, [RIVER], start)


@settings(max_examples=80)
@given(STEPS, st.sampled_from([1, 10_000]), st.sampled_from([400, 1 << 20]))
def test_the_law(steps: list[tuple[str, int | str]], bound: int, queue: int) -> None:
    with scratch() as folder:
        world = World(folder, bound, queue)
        for what, how in steps:
            world.do(what, how)
        station = world.station
        station.full.clear()
        station.wells["river"].broken = False
        world.do("come", 2)
        station.manager.poll()
        for _ in range(3):
            station.pass_time(2 * MINUTE)
            while station.manager.poll():
                pass
        for query in world.taken:
            while world.take(query):
                pass
        assert station.manager.status("river").trouble is None
        assert len(station.wells["river"].acknowledged) >= len(station.wells["river"].results)
        log = station.logged()
        assert log == some(0, world.poured)
        for query, rows in world.taken.items():
            assert rows == log[world.began[query] :], query
        ledger = station.manager.status("river").ledger
        assert ledger.balanced
        assert (ledger.appended, ledger.shed) == (len(log), 0)
        station.manager.close()
        assert not station.logs.log("river").verify().damages


@settings(max_examples=40)
@given(STEPS, st.sampled_from([Policy.DROP_OLDEST, Policy.DROP_NEWEST, Policy.SAMPLE]))
def test_what_is_shed_is_counted(steps: list[tuple[str, int | str]], policy: Policy) -> None:
    with scratch() as folder:
        world = World(folder, 200, 1 << 20)
        world.station.settings = type(world.station.settings)(backlog_bytes=200, policies={"river": policy})
        world.station.manager = world.station.start()
        for what, how in steps:
            world.do(what, how)
        station = world.station
        station.full.clear()
        station.wells["river"].broken = False
        world.do("come", 2)
        for _ in range(3):
            station.pass_time(2 * MINUTE)
            while station.manager.poll():
                pass
        ledger = station.manager.status("river").ledger
        log = station.logged()
        assert ledger.balanced
        assert ledger.appended == len(log) == len(set(log))
        assert set(log) <= set(some(0, world.poured))
        # What was shed is counted in the next record: a death while the disk is full forgets the count.
        died = ("die", 0) in steps
        assert ledger.shed or died or log == some(0, world.poured)
        station.manager.close()


FILES = st.lists(
    st.one_of(
        st.tuples(st.just("new"), st.integers(0, 99)),
        st.tuples(st.just("add"), st.integers(0, 99)),
        st.tuples(st.just("delete"), st.integers(0, 99)),
        st.tuples(st.just("poll"), st.integers(1, 4)),
        st.tuples(st.just("die"), st.just(0)),
        st.tuples(st.just("full"), st.just(0)),
        st.tuples(st.just("room"), st.just(0)),
    ),
    max_size=30,
)


@settings(max_examples=80)
@given(FILES, st.integers(1, 4))
def test_a_directory_whose_files_come_and_go(steps: list[tuple[str, int]], batch: int) -> None:
    """Whatever is in the files at last, is in the log; nothing is there twice."""
    with scratch() as folder, scratch() as place:
        station, inbox = Station(Path(folder)), Path(place)
        stream = replace(PUSHED, url=f"directory://{inbox}?follow=1&batch={batch}")
        station.manager.register("q", [stream])
        written = 0

        def lines(count: int) -> str:
            nonlocal written
            written += count
            return "".join(f"{n},1,0\n" if n % 5 else "broken,1,0\n" for n in range(written - count, written))

        for what, how in steps:
            there = sorted(inbox.iterdir())
            match what:
                # Each name but once: whether a file is another of the same name cannot always be told.
                case "new":
                    (inbox / f"{how:02}-{written}.csv").write_text("time,id,depth\n" + lines(1 + how % 7))
                case "add" if there:
                    with there[how % len(there)].open("a") as file:
                        file.write(lines(1 + how % 3))
                case "delete" if there:
                    there[how % len(there)].unlink()
                case "poll":
                    for _ in range(how):
                        station.manager.poll()
                case "die":
                    station.restart()
                    station.manager.register("q", [stream])
                case "full":
                    station.full.add("during_write")
                case "room":
                    station.full.clear()
                case _:
                    pass
        station.full.clear()
        station.restart()
        station.manager.register("q", [stream])
        for _ in range(3):
            station.pass_time(2 * MINUTE)
            while station.manager.poll():
                pass
        log = [time for time, _, _ in station.logged()]
        assert len(log) == len(set(log))
        files = [
            line.split(",")[0] for each in inbox.iterdir() for line in each.read_text().split("\n")[1:-1]
        ]
        assert set(log) >= {int(time) for time in files if time != "broken"}
        ledger = station.manager.status("river").ledger
        assert ledger.balanced
        assert ledger.appended == len(log)
        assert files.count("broken") <= ledger.garbled <= written // 5 + 1
        assert ledger.duplicate == 0
        station.manager.close()
