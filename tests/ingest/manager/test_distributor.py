"""The rings and the log against a naive twin: a list of all durable entries, and for each query how many of them it has taken."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from log.logs import COLUMNS, frame, scratch, small
from nilometer.dataflow.sources import Batch, Entry, Heartbeat
from nilometer.errors import ConfigurationError
from nilometer.ingest.manager.distributor import Distributor, FeedStart
from nilometer.ingest.manager.handed import Handed
from nilometer.ingest.manager.ring import size_of
from nilometer.log import Offset, StreamLog

STREAMS = ("a", "b")

Item = tuple[str, int]
"""A reading, by its time, or a heartbeat, by its tick."""


def items_of(entry: Entry) -> list[Item]:
    if isinstance(entry, Heartbeat):
        return [("beat", entry.tick)]
    assert isinstance(entry, Batch)
    return [("row", time) for time in entry.rows.get_column("time").to_list()]


@dataclass
class Twin:
    """A log as a list of (offset of the item, item); the first `durable` of them may be read."""

    items: list[tuple[Offset, Item]] = field(default_factory=list)
    durable: int = 0

    def behind(self, offset: Offset) -> list[Item]:
        return [item for at, item in self.items[: self.durable] if at >= offset]


class World:
    """The distributor under test over real logs, and a twin of each log."""

    def __init__(self, folder: Path, bound: int) -> None:
        self.bound = bound
        self.logs = {name: StreamLog(folder / name, COLUMNS, small(), clock=lambda: 0.0) for name in STREAMS}
        self.twins = {name: Twin() for name in STREAMS}
        self.durable = dict.fromkeys(STREAMS, Offset())
        self.distributor = Distributor(bound)
        self.started: dict[str, dict[str, Offset]] = {}
        self.taken: dict[str, dict[str, list[Item]]] = {}
        self.largest = self.next = 0

    def put(self, stream: str, count: int) -> None:
        """So many readings, or with none a heartbeat."""
        log, twin = self.logs[stream], self.twins[stream]
        if count:
            entry: Entry = Batch(frame(self.next, count))
            log.append(entry.rows)
        else:
            entry = Heartbeat(self.next)
            log.heartbeat(self.next)
        after = log.end
        at = Offset(after.number - 1, after.position - count)
        for place, item in enumerate(items_of(entry)):
            twin.items.append((Offset(at.number, at.position + place), item))
        self.next += max(1, count)
        handed = Handed(at, after, entry)
        self.largest = max(self.largest, size_of(handed))
        self.distributor.put(stream, handed)
        assert self.distributor.bytes <= max(self.bound, self.largest)

    def flush(self, stream: str) -> None:
        self.durable[stream] = self.logs[stream].flush()
        self.twins[stream].durable = len(self.twins[stream].items)
        self.distributor.durable(stream, self.durable[stream])

    def come(self, query: str, starts: dict[str, Offset | None]) -> None:
        self.distributor.subscribe(
            query,
            [FeedStart(name, self.logs[name], self.durable[name], offset) for name, offset in starts.items()],
        )
        self.started[query] = self.distributor.offsets(query)
        self.taken[query] = {name: [] for name in starts}

    def take(self, query: str) -> bool:
        taken = self.distributor.take(query)
        if taken is not None:
            self.taken[query][taken[0]] += items_of(taken[1])
        return taken is not None

    def check(self) -> None:
        """What each query has taken is what lies between where it began and where it stands."""
        for query, streams in self.taken.items():
            for stream, items in streams.items():
                expected = self.twins[stream].behind(self.started[query][stream])
                assert items == expected[: len(items)], (query, stream)
                stands = self.distributor.offsets(query)[stream]
                assert items + self.twins[stream].behind(stands) == expected, (query, stream)

    def finish(self) -> None:
        """Everything is durable, and everybody reads to the end."""
        for stream in STREAMS:
            self.flush(stream)
        for query in self.taken:
            while self.take(query):
                pass
        self.check()
        for query, streams in self.taken.items():
            for stream, items in streams.items():
                assert items == self.twins[stream].behind(self.started[query][stream]), (query, stream)
        assert self.distributor.bytes == 0, "what all have read is not kept"


WHERE = st.one_of(st.none(), st.floats(0, 1))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(STREAMS), st.integers(0, 30)),
        st.tuples(st.just("flush"), st.sampled_from(STREAMS), st.none()),
        st.tuples(st.just("come"), st.integers(0, 3), st.tuples(WHERE, WHERE)),
        st.tuples(st.just("take"), st.integers(0, 3), st.integers(1, 5)),
        st.tuples(st.just("go"), st.integers(0, 3), st.none()),
        st.tuples(st.just("again"), st.integers(0, 3), st.none()),
    ),
    max_size=60,
)


@settings(max_examples=150)
@given(STEPS, st.sampled_from([1, 500, 2_000, 10_000, 1 << 20]))
def test_the_law(steps: list[tuple[str, object, object]], bound: int) -> None:
    with scratch() as folder:
        world = World(Path(folder), bound)
        for what, who, how in steps:
            query = f"q{who}"
            match what, how:
                case "put", int(rows):
                    world.put(str(who), rows)
                case "flush", _:
                    world.flush(str(who))
                case "come", (first, second) if query not in world.taken:
                    starts: dict[str, Offset | None] = {}
                    for name, share in zip(STREAMS, (first, second), strict=True):
                        items = world.twins[name].items[: world.twins[name].durable]
                        begin = (
                            None if share is None or not items else items[int(share * (len(items) - 1))][0]
                        )
                        starts[name] = begin
                    world.come(query, starts)
                case "take", int(entries) if query in world.taken:
                    for _ in range(entries):
                        world.take(query)
                case "go", _ if query in world.taken:
                    world.distributor.unsubscribe(query)
                    del world.taken[query], world.started[query]
                case "again", _ if query in world.taken:
                    # Registered anew where it stood, it goes on.
                    stood = world.distributor.offsets(query)
                    world.distributor.unsubscribe(query)
                    began, taken = world.started[query], world.taken[query]
                    world.come(query, dict(stood))
                    world.started[query], world.taken[query] = began, taken
                case _:
                    pass
            world.check()
        world.finish()


def test_one_copy_for_all_queries(memory: Path) -> None:
    """STEAM's Q+S: the bytes of what waits do not depend on how many wait for it."""
    world = World(memory, 1 << 20)
    for number in range(16):
        world.come(f"q{number}", {"a": None})
    world.put("a", 100)
    world.put("a", 0)
    world.flush("a")
    sizes = [world.distributor.bytes]
    for number in range(16):
        while world.take(f"q{number}"):
            pass
        sizes.append(world.distributor.bytes)
    assert len(set(sizes[:-1])) == 1, "kept as long as one has to read it"
    assert sizes[-1] == 0
    world.finish()


def test_what_is_not_durable_is_not_handed_on(memory: Path) -> None:
    world = World(memory, 1 << 20)
    world.come("q", {"a": None})
    world.put("a", 3)
    world.come("late", {"a": None})
    world.come("from the start", {"a": Offset()})
    assert not any(world.take(query) for query in world.taken)
    world.put("a", 2)
    world.flush("a")
    world.put("a", 1)
    for query in world.taken:
        assert world.take(query)
        assert world.take(query)
        assert not world.take(query), query
    world.finish()


def test_a_query_that_has_fallen_behind_reads_the_log_and_comes_back(memory: Path) -> None:
    world = World(memory, 3_000)
    world.come("quick", {"a": None})
    world.come("slow", {"a": None})
    for _ in range(20):
        world.put("a", 20)
        world.flush("a")
        assert world.take("quick")
    slow = world.distributor._feeds["slow"][0]
    quick = world.distributor._feeds["quick"][0]
    assert (quick.behind, slow.behind) == (False, True)
    assert world.distributor.bytes == 0, "a query that reads the log keeps nothing in the ring"
    while world.take("slow"):
        pass
    assert not slow.behind
    world.put("a", 1)
    world.flush("a")
    assert world.distributor.bytes > 0
    world.finish()


def test_what_retention_took_is_passed_over(memory: Path) -> None:
    world = World(memory, 100)
    world.come("slow", {"a": None})
    for _ in range(40):
        world.put("a", 20)
        world.flush("a")
    world.logs["a"].trim(before=500, force=True)
    rows = []
    while (taken := world.distributor.take("slow")) is not None:
        rows += items_of(taken[1])
    left = pl.concat(list(world.logs["a"].scan())).get_column("time").to_list()
    assert 0 < len(left) < 800
    assert rows == [("row", time) for time in left]
    assert world.distributor.offsets("slow") == {"a": world.logs["a"].end}


def test_who_is_unknown_is_refused(memory: Path) -> None:
    world = World(memory, 100)
    world.come("q", {"a": None})
    with pytest.raises(ConfigurationError, match="registered already"):
        world.come("q", {"a": None})
    world.distributor.close()
    with pytest.raises(ConfigurationError, match="no query 'q'"):
        world.distributor.take("q")
    with pytest.raises(ConfigurationError, match="no query 'q'"):
        world.distributor.offsets("q")


def test_a_query_may_begin_within_an_entry_of_the_ring(memory: Path) -> None:
    world = World(memory, 1 << 20)
    world.come("waits", {"a": None})
    world.put("a", 10)
    world.flush("a")
    world.come("within", {"a": Offset(0, 4)})
    assert not world.distributor._feeds["within"][0].behind
    assert world.take("within")
    assert world.taken["within"]["a"] == [("row", time) for time in range(4, 10)]
    world.finish()


def test_what_is_not_durable_is_not_read_in_the_log_either(memory: Path) -> None:
    world = World(memory, 1)
    world.come("q", {"a": None})
    for _ in range(3):
        world.put("a", 5)
    assert world.distributor._feeds["q"][0].behind
    assert not world.take("q")
    world.flush("a")
    assert world.take("q")
    world.finish()
