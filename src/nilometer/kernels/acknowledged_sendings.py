"""Counts the sendings of packets that are repeated until acknowledged: how many to expect and to reserve.

A sending succeeds with probability `success` (packet and acknowledgement both arrive); otherwise the packet
is sent again, at most `retries` times. So one packet takes A sendings, a geometric variable that is cut off
at retries + 1:

    P(A = i) = s (1 - s)^(i - 1)  for i = 1 ... retries,      P(A = retries + 1) = (1 - s)^retries

P packets take the sum, whose distribution is the P-fold convolution. Without the cut-off it would be the
negative binomial distribution.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from nilometer.kernels.arrays import Floats

_DEVIATIONS = 40
"""By Cantelli's inequality a sum exceeds its mean by more than this with a probability of at most 1 / (1 +
40^2) < 0.001."""


@lru_cache(maxsize=65536)
def reserved_sendings(packets: int, success: float, retries: int, target: float) -> int:
    """The fewest sendings T for which P(A_1 + ... + A_P <= T) >= target, which is at most 0.999.

    The target is not "all packets arrive": a packet that n retries cannot deliver, no slot can. With
    probability `target` the slot is long enough for every retry that a packet may have, so the slot costs no
    packets.

    >>> reserved_sendings(10, 1.0, 3, 0.999), reserved_sendings(10, 0.5, 3, 0.999)
    (10, 30)
    """
    if retries == 0 or packets == 0 or success >= 1.0:
        return packets
    law = _extra(packets, success, retries)
    return packets + int(np.searchsorted(np.cumsum(law), target))


@lru_cache(maxsize=65536)
def expected_sendings(packets: int, success: float, retries: int, reserved: int) -> float:
    """E min(A_1 + ... + A_P, reserved): the mean number of sendings in a slot that ends after `reserved` of them.

    >>> expected_sendings(1, 0.5, 1, 2)
    1.5
    """
    if retries == 0 or packets == 0 or success >= 1.0:
        return float(min(packets, reserved))
    if reserved <= packets:
        return float(reserved)
    more = reserved - packets
    law = _extra(packets, success, retries)[:more]
    # The mean of a variable cut off at m is the sum of P(X > t) over t < m.
    return packets + float(np.maximum(0.0, 1.0 - np.cumsum(law)).sum())


def _extra(packets: int, success: float, retries: int) -> Floats:
    """The distribution of the sendings beyond one per packet, as far as it matters: P(A_1 + ... + A_P - P =
    i) at i."""
    failure = 1.0 - success
    one = success * failure ** np.arange(retries + 1.0)
    one[-1] = failure**retries
    numbers = np.arange(retries + 1.0)
    mean = float(one @ numbers)
    deviation = sqrt(packets * max(0.0, float(one @ numbers**2) - mean * mean))
    length = min(retries * packets, ceil(packets * mean + _DEVIATIONS * deviation)) + 1
    # Repeated squaring. A product that is cut off is exact as far as it goes, and nothing is ever subtracted.
    found, power, left = np.ones(1), one[:length], packets
    while left:
        if left & 1:
            found = np.convolve(found, power)[:length]
        left >>= 1
        if left:
            power = np.convolve(power, power)[:length]
    return found
