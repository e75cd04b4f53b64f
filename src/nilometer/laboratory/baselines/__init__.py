"""The joins that SNJoin and the W-join are compared with. Each turns arrivals into results and counts its
work.

| module | join | compared in |
|---|---|---|
| `symmetric_hash_join` | two streams, in memory | SNJoin, section 8 |
| `xjoin` | two streams, three stages, bounded memory; windowed with periodic purges | STEAM, Figure 7(b) |
| `xjoin_tree` | N streams, a left-deep tree of windowed XJoins in memory | STEAM, Figure 7(b) |
| `ripple_join` | two relations, with a running estimate | STEAM, section 6.2 |
| `windowed_ripple_join` | N streams, nested loops with periodic purges | STEAM, Figure 7(a) |
| `hash_merge_join` | two streams, hashing and merging, bounded memory | SNJoin, section 8 |
| `hash_merge_tree` | k streams, a left-deep tree of outer joins | SNJoin, Figures 8 to 10 |
| `mjoin` | k streams, inner and outer, in one operator | SNJoin, Figures 8 to 11 and 14 |

All are fed `Arrivals`, return row numbers and have `counters`. They are as columnar as the joins they are
compared with: a batch is one or several calls of a compiled kernel.
"""

from nilometer.laboratory.baselines.arrivals import Arrivals
from nilometer.laboratory.baselines.counters import Counters
from nilometer.laboratory.baselines.hash_merge_join import FlushPolicy, HashMergeJoin, HashMergeJoinSpec
from nilometer.laboratory.baselines.hash_merge_tree import HashMergeTree, HashMergeTreeSpec
from nilometer.laboratory.baselines.mjoin import MJoin, MJoinSpec
from nilometer.laboratory.baselines.multi_way_result import MultiWayResult
from nilometer.laboratory.baselines.ripple_join import Estimate, RippleJoin, RippleJoinSpec, ripple_order
from nilometer.laboratory.baselines.symmetric_hash_join import SymmetricHashJoin, SymmetricHashJoinSpec
from nilometer.laboratory.baselines.windowed_ripple_join import WindowedRippleJoin, WindowedRippleJoinSpec
from nilometer.laboratory.baselines.xjoin import XJoin, XJoinSpec
from nilometer.laboratory.baselines.xjoin_tree import XJoinTree, XJoinTreeSpec

__all__ = [
    "Arrivals",
    "Counters",
    "Estimate",
    "FlushPolicy",
    "HashMergeJoin",
    "HashMergeJoinSpec",
    "HashMergeTree",
    "HashMergeTreeSpec",
    "MJoin",
    "MJoinSpec",
    "MultiWayResult",
    "RippleJoin",
    "RippleJoinSpec",
    "SymmetricHashJoin",
    "SymmetricHashJoinSpec",
    "WindowedRippleJoin",
    "WindowedRippleJoinSpec",
    "XJoin",
    "XJoinSpec",
    "XJoinTree",
    "XJoinTreeSpec",
    "ripple_order",
]
