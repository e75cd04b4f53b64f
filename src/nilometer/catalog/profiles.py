"""Cost profiles of mote networks, as data: the costs of primitive actions, with the parameters of SNEE's
compiler.

`snee-2010` has the figures behind the agenda of SNEE's Fig. 22; `snee-thesis` and `snee-hardware` are the two
later sets of the same parameters. `mica2` has the cycle-level figures of SNEE's Tables 2 and 3, `nrf52840`
those of a current mote (`catalog.nrf52840`), and `avr` those of the programs that `nilometer compile` makes.
Times are milliseconds, sizes bytes, currents amperes, rates hertz. `placement.cost_parameters` says what each
parameter means.
"""

from __future__ import annotations

from typing import Final

from nilometer.catalog.cost_checks import check_costs
from nilometer.catalog.near_misses import near_misses
from nilometer.catalog.network import CostProfile
from nilometer.catalog.nrf52840 import NRF52840
from nilometer.errors import CatalogError

_CYCLE: Final = 1000 / 7_372_800
"""The milliseconds of one cycle of a Mica2."""

_SNEE_2010: Final[dict[str, float]] = {
    "copy_tuple": 0.1,
    "keep_tuple": 0.1,
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
    # SNEE's figures do not separate these costs; `avr`, which is measured, does.
    **dict.fromkeys(("open_tray", "take_tuple", "scan_waiting"), 0.0),
    **dict.fromkeys(("combine_state", "calculate_float", "add_group", "compare_key"), 0.0),
    **dict.fromkeys(("move_tuple", "look_back"), 0.0),
    **dict.fromkeys(("task_margin", "slot_slack", "slot_margin", "serial_frame"), 0.0),
    "deliver_tuple": 50,
    "minimum_timer_interval": 10,
    "packet_payload": 29,
    "packet_overhead": 6,
    "serial_payload": 28,
    "serial_tuple_overhead": 10,
    "serial_value_size": 5,
    "fixed_ram": 428,
    "operator_ram": 0,
    "apply_atom": 0,
    "sense_attribute": 0,
    "transmit_packet": 2,  # the thesis's energy model: the receiver listens for the rest of a packet's 30 ms
    "transmit_byte": 0,
    # Neither SNEE nor its Table 2 has acknowledgements. These come from TinyOS's driver of the Mica2's radio
    # (chips/cc1000, ACK_LENGTH and MAX_ACK_WAIT): an acknowledgement takes 16 bytes, and the sender gives up
    # after 18 bytes, of 3072 cycles each.
    "await_acknowledgement": 18 * 3072 * _CYCLE,
    "transmit_acknowledgement": 16 * 3072 * _CYCLE,
    # The Mica2 of the emulator Avrora; the radio transmits at level 20. Its sensor board cannot be switched off.
    "clock_rate": 7_372_800,
    "voltage": 3,
    "cpu_active": 0.0075667,
    "cpu_idle": 0.0033433,
    "cpu_sleep": 0.0001237,
    "radio_receive": 0.0096,
    "radio_transmit": 0.01181,
    "radio_sleep": 2e-7,
    "sensor_on": 0.0056,
    "sensor_board": 0.0007,
}

_THESIS: Final[dict[str, float]] = {
    "turn_on_radio": 10,
    "turn_off_radio": 10,
    "radio_sync_window": 0,
    "send_packet": 15,
    "between_packets": 4,
}

_HARDWARE: Final[dict[str, float]] = {"acquire_data": 100, "radio_sync_window": 100, "deliver_tuple": 100}

# SNEE's Table 2, in cycles. Actions that it does not list cost nothing; an operator's overhead is
# SP_A_OVERHEAD. The serial line carries 57,600 bits a second (ten bits a byte): a packet of 28 bytes and its
# frame of 8 takes 6.25 ms.
_MICA2: Final[dict[str, float]] = {
    "copy_tuple": 0,
    "keep_tuple": 0,
    "apply_predicate": 0,
    "check_tuple": 8 * _CYCLE,
    "do_calculation": 8 * _CYCLE,
    "concatenate": 0,
    "call_method": 124 * _CYCLE,
    "signal_event": 0,
    "acquire_data": 0,
    "scan_tuple": 0,
    "set_a_value": 0,
    "apply_atom": 8 * _CYCLE,
    "sense_attribute": 2542 * _CYCLE,
    "turn_on_radio": 1215 * _CYCLE,
    "turn_off_radio": 0,
    "radio_sync_window": 0,
    "send_packet": (14353 + 62446) * _CYCLE,
    "transmit_packet": 62446 * _CYCLE,
    "transmit_byte": 3072 * _CYCLE,
    "deliver_tuple": 6.25,
    "minimum_timer_interval": 0,
    "operator_ram": 14,
    # Table 3, in brackets: the energy that sensing adds if the board is always on, 0.0009402 uJ a cycle.
    "sensor_on": 0.0009402e-6 * 7_372_800 / 3,
}

# Our own runtime on the Mica2's processor, measured: the cycles are fitted to emulated micro-programs
# (`sensornet.motes.calibration`; a test fits them again). A radio slot begins with two clock ticks in which
# only the receiver is on. The reserved time is longer than the expected time: a slot gets two milliseconds
# more, because it begins at a whole tick, and 1.5 %, because interrupts may coincide; a task gets 15 % more,
# by which the models miss the smallest tasks. If an acknowledgement does not come, the sender waits for six
# ticks and the time to start again. If it comes, the sender waits as long as it takes, turnaround included.
# The serial line is counted in bytes, and a frame has eight. RAM and the currents are the Mica2's;
# `fixed_ram` is the RAM of the largest runtime, with its stack.
_AVR: Final[dict[str, float]] = {
    **dict.fromkeys(("copy_tuple", "apply_predicate", "apply_atom", "check_tuple", "do_calculation"), 0.0),
    **dict.fromkeys(("set_a_value", "concatenate", "scan_tuple", "call_method", "signal_event"), 0.0),
    **dict.fromkeys(("turn_on_radio", "turn_off_radio", "minimum_timer_interval"), 0.0),
    "keep_tuple": 86.7 * _CYCLE,
    "combine_state": 5.6 * _CYCLE,
    "calculate_float": 67.3 * _CYCLE,
    "add_group": 12.3 * _CYCLE,
    "compare_key": 62.5 * _CYCLE,
    "move_tuple": 148.3 * _CYCLE,
    "look_back": 31.3 * _CYCLE,
    "open_tray": 95.2 * _CYCLE,
    "take_tuple": 52.3 * _CYCLE,
    "scan_waiting": 11.8 * _CYCLE,
    "acquire_data": 772.9 * _CYCLE,
    "sense_attribute": 884.2 * _CYCLE,
    "task_margin": 0.15,
    "radio_sync_window": 7341 * _CYCLE,
    "send_packet": 8352 * _CYCLE,
    "transmit_packet": 8352 * _CYCLE,
    "transmit_byte": 3915 * _CYCLE,
    "await_acknowledgement": 44_000 * _CYCLE,
    "transmit_acknowledgement": 32_520 * _CYCLE,
    "slot_slack": 2,
    "slot_margin": 0.015,
    "deliver_tuple": 1286 * _CYCLE,
    "serial_payload": 1,
    "serial_frame": 8,
    "fixed_ram": 200,
    "operator_ram": 8,
}


def _profile(name: str, changed: dict[str, float]) -> CostProfile:
    return CostProfile(name, tuple((_SNEE_2010 | changed).items()))


PROFILES: Final[dict[str, CostProfile]] = {
    "snee-2010": _profile("snee-2010", {}),
    "snee-thesis": _profile("snee-thesis", _THESIS),
    "snee-hardware": _profile("snee-hardware", _HARDWARE),
    "mica2": _profile("mica2", _MICA2),
    "nrf52840": _profile("nrf52840", _MICA2 | NRF52840),
    "avr": _profile("avr", _AVR),
}

DEFAULT_PROFILE: Final = "snee-2010"


def cost_profile(name: str, changed: dict[str, float] | None = None) -> CostProfile:
    """A profile by name, with some parameters changed; a CatalogError for an unknown name or parameter."""
    base = PROFILES.get(name.lower())
    if base is None:
        raise CatalogError(f"no cost profile '{name}'", hint=near_misses(name, PROFILES))
    if not changed:
        return base
    for parameter in changed:
        base[parameter]  # raises for an unknown parameter
    whole = dict(base.parameters) | changed
    check_costs(changed, whole)
    return CostProfile(base.name, tuple(whole.items()))
