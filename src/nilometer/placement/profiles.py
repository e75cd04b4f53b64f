"""Ways to place: which heuristics and which format. Data, not code, like the optimizer's profiles of the same names.

`snee-2010` is the compiler that printed the figures of the SNEE paper, faults included; `default` is ours. What a mote's
actions take is another matter, and the network's (`Network.profile`, `cost_parameters`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from nilometer.errors import ConfigurationError
from nilometer.placement.wire_format import COMPACT_FORMAT, SNEE_2010_FORMAT, WireFormat


@dataclass(frozen=True)
class PlacementProfile:
    """A way to place a plan.

    `routing`: `takahashi-matsuyama`, or `random` with `seed` (Fig. 14 as the released code has it). `serial`: one transfer
    at a time in the whole network, else as many as do not disturb each other. `sleeps_alone`: each site sleeps when it
    has nothing to do. `keeps_exchanges`: an EXCHANGE between fragments of the same sites stays. `paper_arithmetic`: costs
    are truncated, and a join's left input is counted twice, as in the code behind Fig. 22. `in_network`: programs are to
    be built, so that a plan that motes can run as a whole is never left to the gateway, even where that would be cheaper.
    """

    name: str
    routing: str
    wire: WireFormat
    tick_rate: int
    serial: bool = False
    sleeps_alone: bool = True
    keeps_exchanges: bool = False
    paper_arithmetic: bool = False
    in_network: bool = False
    seed: int = 4


DEFAULT = PlacementProfile("default", "takahashi-matsuyama", COMPACT_FORMAT, tick_rate=32768)

SNEE_2010 = PlacementProfile(
    "snee-2010",
    "random",
    SNEE_2010_FORMAT,
    tick_rate=1024,  # TinyOS's "binary milliseconds"
    serial=True,
    sleeps_alone=False,
    keeps_exchanges=True,
    paper_arithmetic=True,
)

MOTES = replace(DEFAULT, name="motes", in_network=True)
"""For programs that are to be built and run: as much on motes as they can do."""

PLACEMENT_PROFILES: Mapping[str, PlacementProfile] = MappingProxyType(
    {profile.name: profile for profile in (DEFAULT, SNEE_2010, MOTES)}
)


def placement_profile(name: str) -> PlacementProfile:
    """The profile of that name."""
    if name not in PLACEMENT_PROFILES:
        raise ConfigurationError(
            f"no placement profile '{name}'", hint=f"there are {DEFAULT.name} and {SNEE_2010.name}"
        )
    return PLACEMENT_PROFILES[name]
