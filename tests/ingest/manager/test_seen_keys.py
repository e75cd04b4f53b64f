"""The memory of the entrance is bounded: the newest keys, and eight bytes for each older one without the time, up to a limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.manager.streams import KEYED, UNTIMED, Reading, frame, result
from nilometer.errors import ResourceError
from nilometer.ingest.manager import Entrance
from nilometer.ingest.manager.fingerprints import Fingerprints
from nilometer.ingest.manager.seen_keys import SPANS, SeenKeys, _spans, key_of
from nilometer.log import StreamLog


@given(st.lists(st.lists(st.integers(0, 60), max_size=20), max_size=20))
def test_fingerprints_are_a_set(batches: list[list[int]]) -> None:
    prints, twin = Fingerprints(), set[int]()
    every = np.arange(61, dtype=np.uint64)
    for batch in batches:
        prints.add(np.array(batch, dtype=np.uint64))
        twin |= set(batch)
        assert prints.has(every).tolist() == [number in twin for number in range(61)]


def test_adding_fingerprints_keeps_few_arrays() -> None:
    prints = Fingerprints()
    for first in range(0, 100_000, 100):
        prints.add(np.arange(first, first + 100, dtype=np.uint64))
    assert len(prints) == 100_000
    assert len(prints._runs) <= 10


@pytest.mark.promise("keys-bound")
def test_the_keys_with_the_time_stay_within_their_bound(tmp_path: Path) -> None:
    entrance = Entrance(KEYED, StreamLog(tmp_path, KEYED), keys=1_000)
    assert entrance.keys is not None
    for first in range(0, 100_000, 500):
        readings: list[Reading] = [(time, 1, 0.0) for time in range(first, first + 500)]
        entrance.admit(result([*readings, (first // 2, 1, 0.0)]))
        assert len(entrance.keys) <= 2_500
    assert (entrance.ledger.appended, entrance.ledger.duplicate) == (100_000, 200)
    assert len(entrance.keys._fingerprints) == 0
    entrance.log.close()


@pytest.mark.promise("other-keys")
def test_more_keys_without_the_time_than_can_be_remembered_are_refused(tmp_path: Path) -> None:
    log = StreamLog(tmp_path, UNTIMED)
    keys = SeenKeys(UNTIMED, key_of(UNTIMED), log, limit=10, fingerprints=50)
    taken = 0

    def take() -> None:
        rows = keys.fresh(frame([(1, 1, float(number)) for number in range(taken, taken + 5)]))
        log.append(rows)
        keys.remember(rows)

    while len(keys._fingerprints) <= 50:
        take()
        taken += 5
    with pytest.raises(
        ResourceError, match=r"the KEY \(depth\) of 'river' has more than 50 values"
    ) as refused:
        take()
    assert "KEY (depth, time)" in str(refused.value.hint)
    assert taken <= 50 + 2 * 10 + 15
    log.close()


@pytest.mark.promise("old-readings")
def test_old_readings_do_not_read_the_log(tmp_path: Path) -> None:
    entrance = Entrance(KEYED, StreamLog(tmp_path, KEYED), keys=1_000)
    assert entrance.keys is not None
    for first in range(0, 100_000, 1_000):
        entrance.admit(result([(2 * time, 1, 0.0) for time in range(first, first + 1_000)]))
    before = entrance.keys.scans
    for batch in range(50):  # a backlog, scattered over the whole log
        entrance.admit(result([(2 * (batch + 50 * place) + 1, 1, 0.0) for place in range(1_000)]))
    assert entrance.ledger.appended == 150_000
    assert entrance.keys.scans == before + 1  # the filter was made once
    looked_up = entrance.keys.looked_up
    assert looked_up < 50
    for batch in range(2):  # and again: now each is a double, whether it came in order or late
        entrance.admit(result([(2 * (batch + 50 * place) + batch, 1, 0.0) for place in range(900)]))
    assert (entrance.ledger.appended, entrance.ledger.duplicate) == (150_000, 1_800)
    entrance.log.close()
    again = Entrance(KEYED, StreamLog(tmp_path, KEYED), keys=1_000)
    again.admit(result([(1, 1, 0.0), (2, 1, 0.0), (3, 2, 0.0)]))
    assert (again.ledger.appended, again.ledger.duplicate) == (150_001, 1_802)
    again.log.close()


def test_old_keys_are_looked_up_where_they_are() -> None:
    ticks = [1, 2, 3, 1_000, 1_001, 9_000, *range(20_000, 20_200)]
    spans = _spans(pl.DataFrame({"@tick": ticks}))
    assert len(spans) == SPANS
    assert spans[:2] == [(1, 3), (1_000, 1_001)]
    assert all(any(low <= tick <= high for low, high in spans) for tick in ticks)
    assert _spans(pl.DataFrame({"@tick": [5, 5]})) == [(5, 5)]
