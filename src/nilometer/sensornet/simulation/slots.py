"""The packets of many slots -> how often each is sent, whether it arrives, and why it is lost if it does not.

A slot has time for `reserved` transmissions, one after the other. The sender takes its packets in order and
sends each until it is acknowledged, with at most `retries` retries, or until the slot ends. The receiver
acknowledges every transmission that arrives. If the acknowledgement is lost, the packet arrives again: a
duplicate, which the receiver recognizes by its number and drops. Without retries nothing is acknowledged, and
a packet is sent once.

All slots are computed at once. The transmissions that a packet needs do not depend on the other packets of
its slot; only their start does, and that is a running sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.sensornet.simulation.draws import uniform

_LINK, _ACKNOWLEDGEMENT = 1, 3
"""The purposes of draws; `clocks.py` has another."""

REASONS = ("link", "slot", "clock", "death")
"""Why a packet is lost: no transmission of it arrived; its slot ended before it could be sent (again); the
receiver did not listen yet, or no longer listened; one of the two was dead. The index is the reason's
number."""
LINK, SLOT, CLOCK, DEATH = range(len(REASONS))


@dataclass(frozen=True)
class Packets:
    """The packets, slot by slot and in order: their `slot`, their `place` in it, and the names of their
    draws."""

    slot: Integers
    place: Integers
    node: Integers
    period: Integers


@dataclass(frozen=True)
class Link:
    """The conditions of each packet. `forward` and `backward`: the probability that it, or its
    acknowledgement, arrives. `reserved`: the transmissions of its slot; the receiver does not listen to
    `deaf` of them, at the start (`deaf` > 0) or at the end (< 0). `cut`: an end is dead."""

    forward: Floats
    backward: Floats
    reserved: Integers
    deaf: Integers
    cut: Booleans


@dataclass(frozen=True)
class SendingResult:
    """For each packet: how often it was `sent`, how often it was `heard` (all but the first are duplicates),
    and, if that is 0, the number of the `reason`."""

    sent: Integers
    heard: Integers
    reason: Integers


def send(seed: int, packets: Packets, link: Link, retries: int, *, lossy: bool) -> SendingResult:
    """The fate of the packets. Draws are named by site, period, packet and transmission, so the cutting of a
    run changes nothing."""
    most = retries + 1
    # A sender that is not heard at first sends every packet as often as allowed, until the receiver listens.
    unheard = np.clip(np.maximum(link.deaf, 0) - packets.place * most, 0, most)
    arrives = np.empty((most, len(packets.slot)), dtype=np.bool_)
    wanted = np.full(len(packets.slot), most, dtype=np.int64)
    for again in reversed(range(most)):
        arrives[again] = (again >= unheard) & ~link.cut
        answered = arrives[again]
        if lossy:
            arrives[again] &= _draw(seed, _LINK, packets, again) < link.forward
            if retries:
                answered = arrives[again] & (
                    _draw(seed, _ACKNOWLEDGEMENT, packets, again, named=True) < link.backward
                )
        wanted[answered] = again + 1
    before = _running(packets.slot, wanted)
    listened = link.reserved + np.minimum(link.deaf, 0)
    # A transmission after the receiver has stopped listening gets no answer, nor does any later one.
    wanted = np.where((before + wanted > listened) & (link.deaf < 0), most, wanted)
    before = _running(packets.slot, wanted)
    sent = np.clip(link.reserved - before, 0, wanted)
    heard = np.zeros(len(packets.slot), dtype=np.int64)
    for again in range(most):
        heard += arrives[again] & (again < sent) & (before + again < listened)
    reason = np.full(len(packets.slot), LINK, dtype=np.int64)
    reason[sent < most] = SLOT
    reason[(unheard > 0) | ((link.deaf < 0) & (before + most > listened))] = CLOCK
    reason[link.cut] = DEATH
    return SendingResult(sent, heard, reason)


def _draw(seed: int, purpose: int, packets: Packets, again: int, *, named: bool = False) -> Floats:
    """A number for each packet's transmission; the first transmission needs no number of its own."""
    count = len(packets.slot)
    names = [np.full(count, purpose), packets.node, packets.period, packets.place]
    if again or named:
        names.append(np.full(count, again))
    return uniform(seed, *names)


def _running(slot: Integers, amounts: Integers) -> Integers:
    """For each packet, the sum over the packets before it in its slot."""
    before = np.cumsum(amounts) - amounts
    begins = np.flatnonzero(np.r_[True, slot[1:] != slot[:-1]])
    lengths = np.diff(np.r_[begins, len(slot)])
    found: Integers = before - np.repeat(before[begins], lengths)
    return found
