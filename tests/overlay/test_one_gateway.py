"""DHTJoin's q1 on one gateway: at each tick the answer is that of counts per key."""

from __future__ import annotations

from nilometer.laboratory.dhtjoin.one_gateway import one_gateway


def test_q1_is_arithmetic_with_counts_per_key() -> None:
    found = one_gateway(rate=5, seconds=20, window=5, keys=50)
    assert found.ticks >= 20
    assert found.joined > 100
    assert found.different == 0
