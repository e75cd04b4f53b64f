"""Cost profiles of mote networks, as data: what primitive actions take, as SNEE's compiler has them.

`snee-2010` are the figures behind the agenda of SNEE's Fig. 22; `snee-thesis` and `snee-hardware` are the two later sets
of the same parameters. Times are milliseconds, sizes bytes. (The cycle-level Tables 2 and 3 are another model.)
"""

from __future__ import annotations

from typing import Final

from nilometer.catalog.near_misses import near_misses
from nilometer.catalog.network import CostProfile
from nilometer.errors import CatalogError

_SNEE_2010: Final[dict[str, float]] = {
    "copy_tuple": 0.1,
    "apply_predicate": 0.15,
    "check_tuple": 0.05,
    "do_calculation": 0.05,
    "concatenate": 0.3,
    "call_method": 0.1,
    "signal_event": 2,
    "acquire_data": 30,
    "scan_tuple": 0.1,
    "turn_on_radio": 30,
    "turn_off_radio": 15,
    "radio_sync_window": 5,
    "send_packet": 30,
    "between_packets": 0,
    "set_a_value": 0.02,
    "deliver_tuple": 50,
    "minimum_timer_interval": 10,
    "packet_payload": 29,
    "packet_overhead": 6,
    "serial_payload": 28,
    "serial_tuple_overhead": 10,
    "serial_value_size": 5,
    "fixed_ram": 428,
}

_THESIS: Final[dict[str, float]] = {
    "turn_on_radio": 10,
    "turn_off_radio": 10,
    "radio_sync_window": 0,
    "send_packet": 15,
    "between_packets": 4,
}

_HARDWARE: Final[dict[str, float]] = {"acquire_data": 100, "radio_sync_window": 100, "deliver_tuple": 100}


def _profile(name: str, changed: dict[str, float]) -> CostProfile:
    return CostProfile(name, tuple((_SNEE_2010 | changed).items()))


PROFILES: Final[dict[str, CostProfile]] = {
    "snee-2010": _profile("snee-2010", {}),
    "snee-thesis": _profile("snee-thesis", _THESIS),
    "snee-hardware": _profile("snee-hardware", _HARDWARE),
}

DEFAULT_PROFILE: Final = "snee-2010"


def cost_profile(name: str, changed: dict[str, float] | None = None) -> CostProfile:
    """A profile by name, with some parameters changed; a CatalogError for a name or parameter that is not there."""
    base = PROFILES.get(name.lower())
    if base is None:
        raise CatalogError(f"no cost profile '{name}'", hint=near_misses(name, PROFILES))
    if not changed:
        return base
    for parameter in changed:
        base[parameter]  # refuses a parameter that is not there
    return CostProfile(base.name, tuple((dict(base.parameters) | changed).items()))
