"""The choice between the schemes follows what is shared, and says why."""

from __future__ import annotations

from nilometer.laboratory.stream_buffers import (
    CopiedBuffers,
    Costs,
    SharedBuffers,
    StreamUse,
    choose,
    chosen_buffers,
)


def test_nothing_in_common_means_copies() -> None:
    choice = choose([StreamUse(f"s{i}", 1, 10_000) for i in range(20)])
    assert choice.scheme == "copied"
    assert choice.copied_seconds == 0
    assert "nothing to share" in choice.why


def test_sharing_wins_as_streams_are_shared() -> None:
    choice = choose([StreamUse(f"s{i}", 10, 80_000, waiting=5) for i in range(20)])
    assert choice.scheme == "shared"
    assert choice.copied_bytes > 9 * choice.shared_bytes
    assert choice.why.startswith("shared: ")
    assert f"{choice.copied_bytes:,.0f}" in choice.why


def test_copies_win_where_the_second_access_is_dear_and_batches_small() -> None:
    costs = Costs(second_access=100e-6, copy_batch=1e-6)
    uses = [StreamUse("a", 2, 40), *(StreamUse(f"s{i}", 1, 40) for i in range(50))]
    choice = choose(uses, costs)
    assert choice.scheme == "copied"
    assert "second access" in choice.why
    assert choose(uses, costs, memory=int(choice.shared_bytes)).scheme == "shared"  # only that one fits


def test_the_buffers_are_of_the_chosen_kind() -> None:
    buffers, choice = chosen_buffers([StreamUse("a", 3, 1_000)], bound=10_000)
    assert isinstance(buffers, SharedBuffers)
    assert choice.scheme == "shared"
    assert isinstance(chosen_buffers([StreamUse("a", 1, 1_000)])[0], CopiedBuffers)
