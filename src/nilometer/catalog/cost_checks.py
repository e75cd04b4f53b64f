"""Checks changed cost parameters: for example, a packet must have room for data, and no duration is
negative."""

from __future__ import annotations

import math
from collections.abc import Mapping

from nilometer.errors import CatalogError

WHOLE = (
    "packet_payload",
    "packet_overhead",
    "serial_payload",
    "serial_frame",
    "serial_tuple_overhead",
    "serial_value_size",
    "fixed_ram",
    "operator_ram",
)
"""Parameters that are counted in whole bytes."""

POSITIVE = ("packet_payload", "serial_payload", "clock_rate", "voltage", "cpu_active")
"""Parameters that must be greater than 0; all others may be 0."""


def check_costs(changed: Mapping[str, float], whole: Mapping[str, float]) -> None:
    """Refuse a changed parameter that makes no sense, alone or together with the others of the `whole`
    profile."""
    for name, value in changed.items():
        expected = _expected(name, value)
        if expected is not None:
            raise CatalogError(
                f"'{name}' of a cost profile cannot be {value:g}", hint=f"give {expected}, or leave it out"
            )
    if {"packet_overhead", "packet_payload"} & set(changed) and whole["packet_overhead"] >= whole[
        "packet_payload"
    ]:
        raise _contradiction(
            whole, "packet_overhead", "packet_payload", "it is part of the payload, and tuples need room too"
        )
    if {"transmit_packet", "send_packet"} & set(changed) and whole["transmit_packet"] > whole["send_packet"]:
        raise _contradiction(whole, "transmit_packet", "send_packet", "it is part of what sending takes")
    answer, wait = "transmit_acknowledgement", "await_acknowledgement"
    if {answer, wait} & set(changed) and whole[answer] > whole[wait]:
        raise _contradiction(whole, answer, wait, "it would be given up before it is sent")


def _expected(name: str, value: float) -> str | None:
    if not math.isfinite(value) or value < 0 or (name in POSITIVE and value == 0):
        return "a number above 0" if name in POSITIVE else "a number of 0 or more"
    if name in WHOLE and value != int(value):
        return "a whole number of bytes"
    return None


def _contradiction(whole: Mapping[str, float], one: str, other: str, why: str) -> CatalogError:
    return CatalogError(
        f"'{one}' of a cost profile is too large for its '{other}'",
        detail=f"{one} is {whole[one]:g}, {other} {whole[other]:g}; {why}",
        hint=f"lower {one}, or raise {other}",
    )
