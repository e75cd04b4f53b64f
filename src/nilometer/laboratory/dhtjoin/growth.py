"""How a join's load is divided as peers come: hops of a put, and the rows of the busiest peer, from 4 peers to 1,024.

Keys are placed by the code that peers use. With skew, the peer that owns the commonest value has all rows of it, however
many peers there are: more peers divide the keys, and no key.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import numpy as np

from nilometer.laboratory.dhtjoin.rings import Ring
from nilometer.laboratory.dhtjoin.traffic import Setting, keys_at


@dataclass(frozen=True)
class Division:
    """Hops of a put, and the shares of a window's rows that the average and the busiest peer have. `hottest` is the share
    of the commonest value."""

    peers: int
    hops: float
    formula: float
    average: float
    uniform: float
    skewed: float
    hottest: float


def divide(peers: int, setting: Setting) -> Division:
    """The division among so many peers, as the mean of some rings."""
    weights = 1.0 / np.arange(1, setting.values + 1) ** setting.zipf
    weights /= weights.sum()
    hops, uniform, skewed = [], [], []
    for seed in range(3):
        ring = Ring.random(peers, seed)
        keys = keys_at("=a0", setting.values)
        owners = ring.owners(keys)
        homes = np.random.default_rng(seed).integers(0, peers, len(keys))
        hops.append(float(ring.hops(homes, keys).mean()))
        uniform.append(float(np.bincount(owners, minlength=peers).max() / len(keys)))
        skewed.append(float(np.bincount(owners, weights=weights, minlength=peers).max()))
    return Division(
        peers,
        float(np.mean(hops)),
        log2(peers) / 2 + 1,
        1 / peers,
        float(np.mean(uniform)),
        float(np.mean(skewed)),
        float(weights[0]),
    )
