"""Suspend and resume: fewer intermediate tuples while a stream is away, and the same answers (DHTJoin, Fig. 5)."""

from __future__ import annotations

from nilometer.laboratory.dhtjoin.outages import run


def test_an_outage_longer_than_the_window_ships_less_and_changes_nothing() -> None:
    without, suspended = (
        run(12, suspends=suspends, window=2, rate=4, values=12, seconds=30) for suspends in (False, True)
    )
    assert without.results == suspended.results
    assert without.results
    assert suspended.intermediate < without.intermediate
    assert suspended.indexed < without.indexed
