"""Queues: what is put comes out once and in order, or is counted; a pull queue asks and never spins."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.dataflow import Batch, Heartbeat
from nilometer.dataflow.fjord.messages import END, Status, StreamEnd
from nilometer.dataflow.fjord.module import Module
from nilometer.dataflow.fjord.queues import PullQueue, PushQueue
from nilometer.dataflow.policy import Outcome, Policy
from nilometer.errors import ConfigurationError

POLICIES = [policy for policy in Policy if policy is not Policy.SPILL]


def batch(*values: int) -> Batch:
    return Batch(pl.DataFrame({"x": values}, schema={"x": pl.Int64}))


def values(queue: PushQueue[Batch]) -> list[int]:
    found: list[int] = []
    while (item := queue.get()) is not None:
        if isinstance(item, Batch):
            found += item.rows["x"].to_list()
    return found


@given(st.sampled_from(POLICIES), st.integers(1, 8), st.lists(st.integers(-2, 5), max_size=20))
def test_the_books_balance_and_order_is_kept(policy: Policy, capacity: int, deeds: list[int]) -> None:
    queue: PushQueue[Batch] = PushQueue(capacity, policy, keep_every=2)
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
        queue: PushQueue[Batch] = PushQueue(4, policy, keep_every=2)
        outcomes = [queue.put(batch(n, n + 1)) for n in (0, 2, 4, 6)]
        found[policy] = (values(queue), outcomes[-1])
    assert found == {
        Policy.DROP_OLDEST: ([4, 5, 6, 7], Outcome.DROPPED),
        Policy.DROP_NEWEST: ([0, 1, 2, 3], Outcome.DROPPED),
        Policy.SAMPLE: ([2, 3, 4, 6], Outcome.DROPPED),
        Policy.BLOCK: ([0, 1, 2, 3], Outcome.FULL),
    }


def test_promises_and_ends_are_never_dropped_and_do_not_pile_up() -> None:
    queue: PushQueue[Batch | Heartbeat | StreamEnd] = PushQueue(2, Policy.DROP_OLDEST)
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


class Counter(Module):
    """Gives a number at every other transition, then ends; never more often asked than it says WORKED."""

    def __init__(self, most: int, idle: bool) -> None:
        super().__init__("counter")
        self.asked = 0
        self._most = most
        self._idle = idle

    def _step(self) -> Status:
        self.asked += 1
        if self.asked > self._most:
            return Status.IDLE if self._idle else Status.END
        if self.asked % 2 == 0:
            self.give(self.asked)
        return Status.WORKED


@pytest.mark.parametrize("idle", [True, False])
def test_a_pull_queue_calls_until_there_is_a_message_or_none_can_come(idle: bool) -> None:
    module = Counter(4, idle)
    queue: PullQueue[int] = PullQueue(module, 1)
    module.outputs.append(queue)
    assert [queue.get(), queue.get()] == [2, 4]
    assert module.asked == 4
    assert queue.get() is None
    assert module.asked == 5
    assert queue.ended is not idle


def test_a_queue_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="spill"):
        PushQueue(1, Policy.SPILL)
    with pytest.raises(ConfigurationError, match="room"):
        PushQueue(0)
