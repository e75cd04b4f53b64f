"""A queue: what is put comes out once and in order, or is counted."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.dataflow import Batch, Heartbeat
from nilometer.dataflow.entry_queue import END, EntryQueue, StreamEnd
from nilometer.dataflow.policy import Outcome, Policy
from nilometer.errors import ConfigurationError

POLICIES = list(Policy)


def batch(*values: int) -> Batch:
    return Batch(pl.DataFrame({"x": values}, schema={"x": pl.Int64}))


def values(queue: EntryQueue[Batch]) -> list[int]:
    found: list[int] = []
    while (item := queue.get()) is not None:
        if isinstance(item, Batch):
            found += item.rows["x"].to_list()
    return found


@given(st.sampled_from(POLICIES), st.integers(1, 8), st.lists(st.integers(-2, 5), max_size=20))
def test_the_books_balance_and_order_is_kept(policy: Policy, capacity: int, deeds: list[int]) -> None:
    queue: EntryQueue[Batch] = EntryQueue(capacity, policy, keep_every=2)
    number, got, taken = 0, [], 0
    for deed in deeds:
        if deed < 0:
            item = queue.get()
            got += [] if item is None else item.rows["x"].to_list()
        else:
            outcome = queue.put(batch(*range(number, number + deed)))
            taken += 0 if outcome is Outcome.FULL else deed
            number += deed
        counts = queue.counts
        waiting = sum(item.rows.height for item in queue)
        assert counts.put == counts.got + waiting + counts.dropped == taken
        assert waiting <= (capacity + 5 if policy is Policy.BLOCK else max(capacity, 5))
    got += values(queue)
    assert got == sorted(set(got))
    if policy is Policy.BLOCK:
        assert len(got) == taken


def test_what_gives_way() -> None:
    found = {}
    for policy in POLICIES:
        queue: EntryQueue[Batch] = EntryQueue(4, policy, keep_every=2)
        outcomes = [queue.put(batch(n, n + 1)) for n in (0, 2, 4, 6)]
        found[policy] = (values(queue), outcomes[-1])
    assert found == {
        Policy.DROP_OLDEST: ([4, 5, 6, 7], Outcome.DROPPED),
        Policy.DROP_NEWEST: ([0, 1, 2, 3], Outcome.DROPPED),
        Policy.SAMPLE: ([2, 3, 4, 6], Outcome.DROPPED),
        Policy.BLOCK: ([0, 1, 2, 3], Outcome.FULL),
    }


def test_promises_and_ends_are_never_dropped_and_do_not_pile_up() -> None:
    queue: EntryQueue[Batch | Heartbeat | StreamEnd] = EntryQueue(2, Policy.DROP_OLDEST)
    queue.put(Heartbeat(5))
    queue.put(Heartbeat(3))
    queue.put(batch(1, 2))
    queue.put(Heartbeat(6))
    queue.put(batch(3, 4))
    queue.put(END)
    first, second, third = queue.get(), queue.get(), queue.get()
    assert first == Heartbeat(6)
    assert isinstance(second, Batch)
    assert second.rows["x"].to_list() == [3, 4]
    assert third is END
    assert queue.get() is None


def test_a_queue_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="capacity"):
        EntryQueue(0)
