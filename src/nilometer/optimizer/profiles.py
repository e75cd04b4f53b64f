"""Profiles: which rules run, and with which policies. A profile is data, and EXPLAIN can show it.

`snee-2010` is the optimizer that printed the figures of the SNEE paper (reference: SNEE source report,
section 4): it pushes no projection below a join, and takes the extents of a join in the order of their sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nilometer.errors import ConfigurationError


@dataclass(frozen=True)
class JoinOrder:
    """How `order_joins` orders the inputs of inner joins: always left-deep, by rising estimated cardinality.

    `later_first`: of two equal estimates, the later one in FROM comes first. `connected`: prefer an input
    that a condition connects with those already joined, to avoid products that nobody asked for. `windows`:
    count the tuples that a window holds, not only the sources that feed it.
    """

    later_first: bool = False
    connected: bool = True
    windows: bool = True


@dataclass(frozen=True)
class Profile:
    """A way to optimize; `without` names the rules that do not run."""

    name: str
    join_order: JoinOrder = JoinOrder()
    projects_below_joins: bool = True
    without: frozenset[str] = frozenset()


DEFAULT = Profile("default")

SNEE_2010 = Profile(
    "snee-2010",
    join_order=JoinOrder(later_first=True, connected=False, windows=False),
    projects_below_joins=False,
)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {profile.name: profile for profile in (DEFAULT, SNEE_2010)}
)


def profile_named(name: str) -> Profile:
    """The profile of that name."""
    if name not in PROFILES:
        raise ConfigurationError(f"no profile '{name}'", hint=f"there are {', '.join(PROFILES)}")
    return PROFILES[name]
