"""The two schemes of STEAM 5.2: the same answers, every query every tuple once and in order, and Q+S against Q*S."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.errors import ConfigurationError
from nilometer.laboratory.stream_buffers import (
    CopiedBuffers,
    IpcFiles,
    Outcome,
    Policy,
    SharedBuffers,
    SpillQueue,
    StreamBuffers,
)

QUERIES = ("p", "q", "r")
STREAMS = ("a", "b", "c")

actions = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(STREAMS), st.integers(0, 6)),
        st.tuples(st.just("get"), st.sampled_from(QUERIES), st.integers(1, 3)),
        st.tuples(st.just("subscribe"), st.sampled_from(QUERIES), st.sets(st.sampled_from(STREAMS))),
        st.tuples(st.just("unsubscribe"), st.sampled_from(QUERIES), st.none()),
    ),
    max_size=60,
)


class Twin:
    """What must come out, naively: a list of numbers for every query."""

    def __init__(self) -> None:
        self.streams: dict[str, frozenset[str]] = {}
        self.expected: dict[str, list[tuple[str, int]]] = {}
        self.found: dict[str, list[tuple[str, int]]] = {}


def take(buffers: StreamBuffers, twin: Twin, query: str) -> bool:
    found = buffers.get(query)
    if found is None:
        return False
    stream, frame = found
    twin.found[query] += [(stream, n) for n in frame["n"]]
    return True


def finish(buffers: StreamBuffers, twin: Twin, query: str) -> None:
    while take(buffers, twin, query):
        pass
    assert twin.found[query] == twin.expected[query]


@settings(max_examples=60)
@given(actions, st.sampled_from(["copied", "copied, spilling", "shared", "shared, spilling"]))
def test_every_query_gets_every_tuple_after_it_subscribed_in_order_once(
    script: list[tuple[str, str, object]], scheme: str
) -> None:
    files = IpcFiles()
    buffers: CopiedBuffers | SharedBuffers
    if scheme.startswith("copied"):
        buffers = CopiedBuffers((lambda: SpillQueue(200)) if "spilling" in scheme else None)
    else:
        buffers = SharedBuffers(100 if "spilling" in scheme else None, files=files)
    twin = Twin()
    number = 0
    for action, name, argument in script:
        if action == "put":
            assert isinstance(argument, int)
            numbers = list(range(number, number + argument))
            number += argument
            assert buffers.put(name, pl.DataFrame({"n": numbers}, schema={"n": pl.Int64})) is Outcome.ACCEPTED
            for query, streams in twin.streams.items():
                if name in streams:
                    twin.expected[query] += [(name, n) for n in numbers]
        elif action == "subscribe":
            assert isinstance(argument, set)
            if name not in twin.streams:
                buffers.subscribe(name, argument)
                twin.streams[name] = frozenset(argument)
                twin.expected[name], twin.found[name] = [], []
        elif name in twin.streams:
            if action == "get":
                assert isinstance(argument, int)
                for _ in range(argument):
                    take(buffers, twin, name)
                assert twin.found[name] == twin.expected[name][: len(twin.found[name])]
            else:
                buffers.unsubscribe(name)
                del twin.streams[name]
        if isinstance(buffers, SharedBuffers):
            assert buffers.readers() == buffers.memory().places
            assert buffers.bound is None or buffers.memory().batch_bytes <= buffers.bound
    for query in twin.streams:
        finish(buffers, twin, query)
    memory = buffers.memory()
    assert (memory.batches, memory.places, memory.bytes, memory.disk_bytes) == (0, 0, 0, 0)
    if isinstance(buffers, SharedBuffers):
        assert buffers.readers() == 0
        assert files.names() == []
        buffers.close()


def test_memory_is_additive_when_shared_and_a_product_when_copied() -> None:
    batch = pl.DataFrame({"n": range(1_000)})
    copied, shared = CopiedBuffers(), SharedBuffers()
    streams = [f"s{i}" for i in range(5)]
    for buffers in (copied, shared):
        for query in range(8):
            buffers.subscribe(f"q{query}", streams)
        for stream in streams:
            buffers.put(stream, batch)
    assert copied.memory().batches == 8 * 5
    assert shared.memory().batches == 5
    assert copied.memory().batch_bytes == 8 * 5 * batch.estimated_size()
    assert shared.memory().batch_bytes == 5 * batch.estimated_size()
    for query in range(8):
        shared.get(f"q{query}")
        assert shared.memory().batches == (5 if query < 7 else 4)  # the last reader lets it go


def test_a_full_buffer_blocks_all_or_none() -> None:
    small = pl.DataFrame({"n": range(10)})
    copied = CopiedBuffers(lambda: SpillQueue(160, Policy.BLOCK))
    copied.subscribe("fast", ["a"])
    copied.subscribe("slow", ["a"])
    shared = SharedBuffers(160, Policy.BLOCK)
    shared.subscribe("fast", ["a"])
    shared.subscribe("slow", ["a"])
    for buffers in (copied, shared):
        assert [buffers.put("a", small) for _ in range(2)] == [Outcome.ACCEPTED] * 2
        assert buffers.get("fast") is not None
        assert (
            buffers.put("a", small) is Outcome.FULL
        )  # the slow one has no room, so the fast one gets none either
        assert buffers.get("slow") is not None
        assert buffers.put("a", small) is Outcome.ACCEPTED
    assert copied.queue("slow").counts.refused == 1
    assert shared.refused == 1


def test_names_are_checked() -> None:
    for buffers in (CopiedBuffers(), SharedBuffers()):
        buffers.subscribe("q", ["a"])
        with pytest.raises(ConfigurationError, match="already"):
            buffers.subscribe("q", ["b"])
        with pytest.raises(ConfigurationError, match="no query"):
            buffers.get("other")
        assert buffers.put("nobody reads this", pl.DataFrame({"n": [1]})) is Outcome.ACCEPTED
        assert buffers.memory().batches == 0
    with pytest.raises(ConfigurationError, match="all its queries lose"):
        SharedBuffers(100, Policy.DROP_OLDEST)
