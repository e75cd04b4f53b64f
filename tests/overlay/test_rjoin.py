"""RJoin, the rival, is complete: its results are those of trying every combination, in whatever order messages come. And
the arrays that count hops count those of Chord."""

from __future__ import annotations

from random import Random

import numpy as np
import polars as pl
import pytest

from nilometer.laboratory.dhtjoin.rings import Ring
from nilometer.laboratory.dhtjoin.rjoin import RJoin
from nilometer.overlay.join_plan import JoinPlan
from nilometer.types import SECOND
from overlay.scenes import results
from overlay.test_joins import CHAIN, FIVE, PAIR, TRIPLE
from overlay.test_ring import hops


@pytest.mark.parametrize("plan", [PAIR, TRIPLE, CHAIN, FIVE], ids=["2", "3", "chain", "5"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rjoin_finds_what_trying_all_finds(plan: JoinPlan, seed: int) -> None:
    random = Random(seed)
    attributes = {one.stream: one.columns for one in plan.inputs}
    rival = RJoin(plan, SECOND, attributes, seed)
    rows: dict[str, list[dict[str, int | None]]] = {name: [] for name in attributes}
    for name, columns in attributes.items():
        for place in range(12):
            values = {c: None if random.random() < 0.05 else random.randrange(3) for c in columns}
            rows[name].append({"@position": place, "@time": random.randrange(8 * SECOND)} | values)
            rival.insert(name, rows[name][-1])
    rival.run()
    frames = {name: pl.DataFrame(found) for name, found in rows.items()}
    assert sorted(rival.results) == results(plan, frames, SECOND)
    assert rival.sent["index"] == sum(2 * 12 * len(columns) for columns in attributes.values())


def test_arrays_count_the_hops_of_chord() -> None:
    ring = Ring.random(60, 4)
    chords = ring.chords(successors=1)
    contacts = list(chords)
    random = Random(5)
    asking = [random.randrange(len(contacts)) for _ in range(200)]
    keys = np.array([random.getrandbits(64) for _ in asking], dtype=np.uint64)
    counted = ring.hops(np.array(asking), keys)
    for start, key, count, owner in zip(asking, keys, counted, ring.owners(keys), strict=True):
        assert hops(chords, contacts[start], int(key)) == (contacts[owner], count)
