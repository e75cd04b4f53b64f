"""Suspend and resume: fewer intermediate tuples while a stream is away, and the same answers (DHTJoin, Fig. 5)."""

from __future__ import annotations

from nilometer.laboratory.dhtjoin.outages import run


def test_an_outage_longer_than_the_window_ships_less_and_changes_nothing() -> None:
    without, suspended = (
        run(12, suspends=suspends, window=2, rate=4, values=12, seconds=30, begin=15, step=0.5)
        for suspends in (False, True)
    )
    assert without.results == suspended.results
    assert without.results
    assert suspended.intermediate < without.intermediate
    # Most useless pairs are not shipped; those of the seconds in which nobody has noticed yet are.
    assert without.useless == suspended.useless
    # (Z has no reading at the very ends of its outage, so a few more are saved than are counted as useless.)
    assert without.intermediate - suspended.intermediate > without.useless / 2
    assert suspended.indexed < without.indexed
