"""Ways to place: which heuristics and which format. They are data, not code, like the optimizer's profiles of
the same names.

`snee-2010` is the compiler that printed the figures of the SNEE paper, faults included; `default` is ours.
The costs of a mote's actions are separate and belong to the network (`Network.profile`, `cost_parameters`).
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

    `routing`: `takahashi-matsuyama`, or `random` with `seed` (Fig. 14 as in the released code). `serial`: one
    transfer at a time in the whole network; otherwise as many as do not disturb each other. `sleeps_alone`:
    each site sleeps when it has nothing to do. `keeps_exchanges`: an EXCHANGE between fragments at the same
    sites stays. `paper_arithmetic`: costs are truncated, and a join's left input counts twice, as in the code
    behind Fig. 22. `in_network`: programs will be built, so a plan that motes can run as a whole never goes
    to the gateway, even if that would be cheaper.
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
"""For programs that will be built and run: motes run as much as they can."""

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
