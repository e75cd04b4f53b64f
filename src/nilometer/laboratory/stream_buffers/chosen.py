"""Chooses between the two schemes of steam.txt section 5.2 by measurements: how many queries share a stream,
how many batches wait, and how much an access costs.

The paper says: copies are optimal while queries have few streams in common. With more common streams they
waste buffer space, Q*S against Q+S, and the second scheme saves it at the price of a second access. This
module computes both costs, and `Choice` gives the reason.

>>> print(
...     choose(
...         [StreamUse("a", queries=1, batch_bytes=80_000), StreamUse("b", queries=1, batch_bytes=80_000)]
...     ).why
... )
copied: no stream has two queries, so there is nothing to share and no need for a second access
>>> choose([StreamUse("a", queries=10, batch_bytes=80_000)]).scheme
'shared'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from nilometer.laboratory.stream_buffers.copied import CopiedBuffers
from nilometer.laboratory.stream_buffers.shared import SharedBuffers
from nilometer.laboratory.stream_buffers.spill_queue import SpillQueue
from nilometer.laboratory.stream_buffers.stream_buffers import REFERENCE_BYTES, StreamBuffers

Scheme = Literal["copied", "shared"]


@dataclass(frozen=True)
class StreamUse:
    """Measurements of a stream: its number of queries, mean batch size, and batches that wait in a queue."""

    stream: str
    queries: int
    batch_bytes: float
    waiting: float = 1.0


@dataclass(frozen=True)
class Costs:
    """Costs in seconds. `second_access`: a look-up and a count, per batch and query. `copy_byte`: copying one
    byte. `copy_batch`: the fixed cost of copying a batch. `reproduce steam-buffer` measures them."""

    second_access: float = 1.0e-6
    copy_batch: float = 40.0e-6
    copy_byte: float = 0.25e-9


@dataclass(frozen=True)
class Choice:
    """The chosen scheme, the bytes and the seconds per round of both schemes, and the reason. A round passes
    one batch of every stream to every query."""

    scheme: Scheme
    copied_bytes: float
    shared_bytes: float
    copied_seconds: float
    shared_seconds: float
    reason: str

    @property
    def why(self) -> str:
        """The scheme and the reason, for a person to read."""
        return f"{self.scheme}: {self.reason}"


def choose(uses: Sequence[StreamUse], costs: Costs = Costs(), *, memory: int | None = None) -> Choice:  # noqa: B008
    """The cheaper scheme. If only the shared scheme fits in `memory`, it is chosen whatever its time."""
    copied_bytes = sum(use.queries * use.waiting * (use.batch_bytes + REFERENCE_BYTES) for use in uses)
    shared_bytes = sum(
        use.waiting * (use.batch_bytes * (use.queries > 0) + use.queries * REFERENCE_BYTES) for use in uses
    )
    copies = [(max(0, use.queries - 1), use.batch_bytes) for use in uses]
    copied_seconds = sum(n * (costs.copy_batch + size * costs.copy_byte) for n, size in copies)
    shared_seconds = sum(use.queries * costs.second_access for use in uses)

    def choice(scheme: Scheme, reason: str) -> Choice:
        return Choice(scheme, copied_bytes, shared_bytes, copied_seconds, shared_seconds, reason)

    if not any(extra for extra, _ in copies):
        return choice(
            "copied",
            "no stream has two queries, so there is nothing to share and no need for a second access",
        )
    sizes = (
        f"{shared_bytes:,.0f} bytes for one copy of each batch against {copied_bytes:,.0f} for one a query"
    )
    if memory is not None and shared_bytes <= memory < copied_bytes:
        return choice("shared", f"{sizes}, and only the former fits in {memory:,} bytes")
    times = f"{shared_seconds * 1e6:,.1f} us a round for the second access against {copied_seconds * 1e6:,.1f} us of copying"
    # The cost is time x bytes: the memory that a buffer holds, for as long as it is worked on.
    if shared_bytes * (shared_seconds or 1e-12) <= copied_bytes * (copied_seconds or 1e-12):
        return choice("shared", f"{sizes}; {times}")
    return choice("copied", f"{times}; {sizes}")


def chosen_buffers(
    uses: Sequence[StreamUse],
    *,
    bound: int | None = None,
    queue: Callable[[], SpillQueue] | None = None,
    costs: Costs = Costs(),  # noqa: B008
) -> tuple[StreamBuffers, Choice]:
    """Empty buffers of the chosen scheme. `bound` is the memory of the shared scheme. `queue` makes the
    queues of the copied scheme."""
    choice = choose(uses, costs, memory=bound)
    return (SharedBuffers(bound) if choice.scheme == "shared" else CopiedBuffers(queue)), choice
