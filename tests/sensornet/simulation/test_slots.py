"""The packets of many slots at once, against one slot after the other, sending by sending."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.sensornet.simulation.draws import uniform
from nilometer.sensornet.simulation.slots import CLOCK, DEATH, LINK, SLOT, Link, Packets, SendingResult, send


@dataclass(frozen=True)
class Slot:
    """So many packets, over a link of those qualities, with time for `reserved` sendings."""

    packets: int
    forward: float
    backward: float
    reserved: int
    deaf: int = 0
    cut: bool = False


def together(seed: int, slots: list[Slot], retries: int, *, lossy: bool = True) -> SendingResult:
    """All of them at once."""
    each = np.array([slot.packets for slot in slots])
    number = np.repeat(np.arange(len(slots)), each)
    place = np.arange(len(number)) - np.repeat(np.cumsum(each) - each, each)

    def column(name: str) -> np.ndarray:
        return np.array([getattr(slot, name) for slot in slots])[number]

    link = Link(*map(column, ("forward", "backward", "reserved", "deaf", "cut")))
    return send(seed, Packets(number, place, number + 100, number // 2), link, retries, lossy=lossy)


def one_by_one(seed: int, slots: list[Slot], retries: int) -> list[tuple[int, int, int]]:
    """The naive twin: a sender and a receiver, beat by beat."""
    found = []
    for number, slot in enumerate(slots):
        beat = 0
        listened = range(max(0, slot.deaf), slot.reserved + min(0, slot.deaf))
        for place in range(slot.packets):
            names = [np.array([name]) for name in (number + 100, number // 2, place)]
            sent = heard = 0
            missed = False
            acknowledged = False
            for again in range(retries + 1):
                if beat >= slot.reserved or acknowledged:
                    break
                extra = [np.array([again])] if again else []
                arrives = uniform(seed, np.array([1]), *names, *extra)[0] < slot.forward
                answer = uniform(seed, np.array([3]), *names, np.array([again]))[0] < slot.backward
                missed |= beat not in listened
                if arrives and beat in listened and not slot.cut:
                    heard += 1
                    acknowledged = bool(answer) and retries > 0
                sent += 1
                beat += 1
            reason = LINK if sent == retries + 1 else SLOT
            if missed or (slot.deaf < 0 and beat + retries + 1 - sent > listened.stop):
                reason = CLOCK
            found.append((sent, heard, DEATH if slot.cut else reason))
    return found


def slots() -> st.SearchStrategy[Slot]:
    quality = st.sampled_from((0.2, 0.5, 0.8, 1.0))
    return st.builds(
        Slot, st.integers(1, 6), quality, quality, st.integers(1, 14), st.integers(-4, 4), st.booleans()
    )


@given(st.integers(0, 9), st.lists(slots(), min_size=1, max_size=6), st.integers(0, 4))
@settings(max_examples=60)
def test_all_slots_at_once_as_one_after_the_other(seed: int, given_slots: list[Slot], retries: int) -> None:
    found = together(seed, given_slots, retries)
    expected = one_by_one(seed, given_slots, retries)
    assert found.sent.tolist() == [sent for sent, _, _ in expected]
    assert found.heard.tolist() == [heard for _, heard, _ in expected]
    for reason, (_, heard, why) in zip(found.reason.tolist(), expected, strict=True):
        if not heard:
            assert reason == why


def test_sendings_follow_the_geometric_law() -> None:
    slots = [Slot(1, 0.5, 1.0, 9) for _ in range(50_000)]
    found = together(9, slots, 3)
    assert (found.heard > 0).mean() == pytest.approx(1 - 0.5**4, abs=0.005)
    shares = [float((found.sent == often).mean()) for often in (1, 2, 3)]
    assert shares == pytest.approx([0.5, 0.25, 0.125], abs=0.01)
    assert found.heard.max() == 1  # no acknowledgement is lost, so nothing is heard twice


def test_an_acknowledgement_that_is_lost_makes_a_duplicate() -> None:
    """Nothing is lost but acknowledgements: sent and heard until one comes back, and always there."""
    found = together(4, [Slot(2, 1.0, 0.5, 99) for _ in range(20_000)], 3)
    assert (found.sent == found.heard).all()
    assert found.heard.min() == 1
    assert (found.heard - 1).mean() == pytest.approx(0.5 + 0.25 + 0.125, abs=0.02)


def test_a_slot_that_is_over_takes_the_last_packets() -> None:
    slots = [Slot(3, 0.5, 1.0, 4) for _ in range(20_000)]
    found = together(4, slots, 7)
    sent = found.sent.reshape(-1, 3)
    lost = (found.heard == 0) & (found.reason == SLOT)
    assert (sent.sum(axis=1) <= 4).all()
    assert lost.reshape(-1, 3).mean(axis=0).tolist() == sorted(lost.reshape(-1, 3).mean(axis=0))
    # All three are there within four sendings with probability 1/8 + 3/16.
    assert (found.heard.reshape(-1, 3) > 0).all(axis=1).mean() == pytest.approx(5 / 16, abs=0.01)


def test_where_nothing_is_lost_everything_is_sent_once() -> None:
    found = together(1, [Slot(4, 0.3, 0.3, 4)], 3, lossy=False)
    assert found.sent.tolist() == found.heard.tolist() == [1, 1, 1, 1]
