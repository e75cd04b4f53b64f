"""The spilling queue: order kept, nothing lost, memory below the bound, files gone when read, and books that balance."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.errors import ConfigurationError, ResourceError
from nilometer.laboratory.stream_buffers import IpcFiles, Outcome, Policy, SpillQueue

FEW = settings(max_examples=40)


def batch(first: int, rows: int, kind: int = 0) -> pl.DataFrame:
    """Rows numbered from `first`, in one of three schemas."""
    frame = pl.DataFrame({"n": pl.int_range(first, first + rows, eager=True, dtype=pl.Int64)})
    if kind == 1:
        frame = frame.with_columns(text=pl.when(pl.col("n") % 3 > 0).then(pl.format("row {}", "n")))
    if kind == 2:
        frame = frame.with_columns(at=pl.struct(x=pl.col("n") * 0.5, y=pl.lit(None, pl.Float64)))
    return frame


def drained(queue: SpillQueue) -> list[int]:
    found: list[int] = []
    while (entry := queue.get()) is not None:
        found += entry.frame["n"].to_list()
    return found


Steps = list[tuple[str, int, int]]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 12), st.integers(0, 2)),
        st.tuples(st.just("get"), st.integers(1, 6), st.just(0)),
    ),
    max_size=60,
)


def play(queue: SpillQueue, script: Steps) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """All that was put and all that was got, the queue read empty at the end."""
    given_frames: list[pl.DataFrame] = []
    found: list[pl.DataFrame] = []
    first = 0
    for action, amount, kind in script:
        if action == "put":
            given_frames.append(batch(first, amount, kind))
            assert queue.put(given_frames[-1], f"stream {kind}") is Outcome.ACCEPTED
            first += amount
        else:
            for _ in range(amount):
                if (entry := queue.get()) is not None:
                    assert entry.stream == f"stream {entry.frame.width - 1 + ('at' in entry.frame.columns)}"
                    found.append(entry.frame)
        assert queue.memory_bytes <= queue.bound
        assert len(queue) == sum(f.height for f in given_frames) - sum(f.height for f in found)
    while (entry := queue.get()) is not None:
        found.append(entry.frame)
        assert queue.memory_bytes <= queue.bound
    return given_frames, found


def same_rows(given_frames: list[pl.DataFrame], found: list[pl.DataFrame]) -> bool:
    return [row for f in given_frames for row in f.rows(named=True)] == [
        row for f in found for row in f.rows(named=True)
    ]


@FEW
@given(steps, st.integers(200, 2_000))
def test_tiny_partitions_keep_order_and_lose_nothing(script: Steps, bound: int) -> None:
    files = IpcFiles()
    with SpillQueue(bound, files=files) as queue:
        put, found = play(queue, script)
        assert same_rows(put, found)
        assert files.names() == []
        assert queue.disk_bytes == 0
        assert not queue.divided
        assert queue.counts.put == queue.counts.got


@settings(max_examples=15)
@given(steps)
def test_an_executor_changes_nothing(script: Steps) -> None:
    with ThreadPoolExecutor(2) as executor, SpillQueue(400, executor=executor) as queue:
        put, found = play(queue, script)
        assert same_rows(put, found)


def test_batches_keep_their_cut_unless_they_are_larger_than_a_partition() -> None:
    queue = SpillQueue(800)  # partitions of 200 bytes: 25 numbers
    sizes = [10, 0, 25, 3, 20, 20, 20, 60, 5]
    for place, rows in enumerate(sizes):
        queue.put(batch(place * 100, rows))
    assert queue.divided
    found = []
    while (entry := queue.get()) is not None:
        found.append(entry.frame.height)
    assert found == [10, 0, 25, 3, 20, 20, 20, 15, 15, 15, 15, 5]


def test_what_fits_never_touches_the_disk(tmp_path: Path) -> None:
    queue = SpillQueue(1_000, files=IpcFiles(tmp_path))
    for first in range(0, 120, 10):
        queue.put(batch(first, 10))
    assert not queue.divided
    assert list(tmp_path.iterdir()) == []
    assert queue.counts.spilled == 0


def test_the_four_partitions_of_figure_5(tmp_path: Path) -> None:
    files = IpcFiles(tmp_path)
    queue = SpillQueue(800, files=files)
    for first in range(0, 500, 25):  # twenty batches, each of exactly one partition
        queue.put(batch(first, 25))
    assert queue.memory_bytes == 600  # two out, one in; the other in has been swapped
    assert len(files.names()) == 17
    assert queue.disk_bytes == sum(path.stat().st_size for path in tmp_path.rglob("*.arrow"))
    assert queue.counts.spilled == 17 * 25
    first_batch = queue.get()
    assert first_batch is not None
    assert first_batch.frame["n"].to_list() == list(range(25))
    assert len(files.names()) == 16  # an out partition is empty: the next has been fetched, its file is gone
    assert drained(queue) == list(range(25, 500))
    assert files.names() == []
    assert queue.put(batch(0, 5)) is Outcome.ACCEPTED
    assert not queue.divided
    queue.put(batch(5, 200))
    queue.close()
    assert list(tmp_path.iterdir()) == []


def test_the_memory_counted_is_the_memory_held() -> None:
    queue = SpillQueue(2_000)
    for first in range(0, 600, 7):
        queue.put(batch(first, 7, kind=1))
        if first % 4 == 0:
            queue.get()
        buffer = queue._divided
        if buffer is None:
            continue
        held = [entry.frame for entry in buffer._filling.entries]
        parts = [part if not isinstance(part, tuple) else part[1].result() for part in buffer._out]
        held += [entry.frame for part in parts for entry in part.entries]
        assert sum(frame.estimated_size() for frame in held) <= queue.memory_bytes <= queue.bound


class FullDisk(IpcFiles):
    """A disk with room for so many files, and one that cannot be read while `broken`."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.broken = False

    def write(self, number: int, frame: pl.DataFrame) -> int:
        if len(self.names()) >= self.room:
            raise OSError(errno.ENOSPC, "no space left on device")
        return super().write(number, frame)

    def read(self, number: int) -> pl.DataFrame:
        if self.broken:
            raise OSError(errno.EIO, "input/output error")
        return super().read(number)


@FEW
@given(st.lists(st.integers(0, 90), max_size=40), st.integers(0, 6), st.integers(0, 5))
def test_a_full_disk_refuses_and_keeps_what_was_accepted(sizes: list[int], room: int, reads: int) -> None:
    queue = SpillQueue(800, files=FullDisk(room))
    accepted: list[int] = []
    found: list[int] = []
    for place, rows in enumerate(sizes):
        frame = batch(place * 100, rows)
        try:
            queue.put(frame)
            accepted += frame["n"].to_list()
        except ResourceError:
            pass
        assert queue.memory_bytes <= queue.bound
        if place % 3 == 0:
            for _ in range(reads):
                entry = queue.get()
                found += [] if entry is None else entry.frame["n"].to_list()
    assert found + drained(queue) == accepted
    assert queue.counts.put == len(accepted) == queue.counts.got
    queue.close()


def test_a_file_that_cannot_be_read_is_read_later() -> None:
    files = FullDisk(100)
    queue = SpillQueue(800, files=files)
    for first in range(0, 200, 25):
        queue.put(batch(first, 25))
    files.broken = True
    found = [queue.get() for _ in range(2)]
    with pytest.raises(ResourceError, match="cannot be read back"):
        queue.get()
    files.broken = False
    assert [n for entry in found if entry for n in entry.frame["n"]] + drained(queue) == list(range(200))


POLICIES = (Policy.DROP_OLDEST, Policy.DROP_NEWEST, Policy.SAMPLE, Policy.BLOCK)


@FEW
@given(steps, st.sampled_from(POLICIES), st.integers(1, 4))
def test_the_books_balance_under_every_policy(script: Steps, policy: Policy, keep_every: int) -> None:
    queue = SpillQueue(200, policy, keep_every=keep_every)
    offered, refused, found = 0, 0, list[int]()
    for action, amount, _ in script:
        if action == "put":
            outcome = queue.put(batch(offered, amount))
            refused += amount if outcome is Outcome.FULL else 0
            offered += amount
        else:
            for _ in range(amount):
                entry = queue.get()
                found += [] if entry is None else entry.frame["n"].to_list()
        assert queue.memory_bytes <= queue.bound
        assert not queue.divided
    found += drained(queue)
    counts = queue.counts
    assert found == sorted(set(found))
    assert counts.put + refused == offered
    assert counts.put == len(found) + counts.dropped
    assert counts.waiting == 0
    if policy is Policy.DROP_OLDEST:
        assert counts.dropped == counts.dropped_oldest
    if policy is Policy.DROP_NEWEST:
        assert counts.dropped == counts.dropped_newest
    if policy is Policy.BLOCK:
        assert counts.dropped == 0


def test_each_policy_keeps_what_it_says() -> None:
    def kept(policy: Policy) -> list[int]:
        queue = SpillQueue(160, policy, keep_every=4)  # twenty numbers
        for first in range(0, 40, 5):
            queue.put(batch(first, 5))
        return drained(queue)

    assert kept(Policy.DROP_OLDEST) == list(range(20, 40))
    assert kept(Policy.DROP_NEWEST) == list(range(20))
    assert kept(Policy.SAMPLE) == [*range(5, 20), 20, 24, 28, 32, 36]
    assert kept(Policy.BLOCK) == list(range(20))


def test_block_says_full_and_takes_nothing() -> None:
    queue = SpillQueue(160, Policy.BLOCK)
    assert queue.put(batch(0, 15)) is Outcome.ACCEPTED
    assert queue.put(batch(15, 6)) is Outcome.FULL
    assert queue.put(batch(15, 5)) is Outcome.ACCEPTED
    assert drained(queue) == list(range(20))
    assert queue.counts.refused == 1
    with pytest.raises(ResourceError, match="larger than its queue"):
        queue.put(batch(0, 21))


def test_a_tuple_larger_than_a_partition_is_an_error() -> None:
    with pytest.raises(ResourceError, match="larger than a partition"):
        SpillQueue(40).put(pl.DataFrame({"text": ["x" * 1_000]}))
    with pytest.raises(ConfigurationError):
        SpillQueue(0)
