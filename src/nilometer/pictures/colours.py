"""The colours of the pictures: one for each fragment, one for each component of a mote."""

from __future__ import annotations

FRAGMENTS = ("#264653", "#2a9d8f", "#e9c46a", "#f4a261", "#e76f51", "#8ab17d", "#6d597a", "#b56576")
RELAY = "#c9ced6"
UNUSED = "#eceff3"
LINK = "#dfe3e8"
RADIO = "#7b8794"
INK = "#1f2933"
DEAD = "#d62828"

COMPONENTS = {
    "cpu_active": "#e76f51",
    "cpu_idle": "#f4a261",
    "cpu_sleep": "#e9c46a",
    "radio_receive": "#2a9d8f",
    "radio_transmit": "#264653",
    "radio_sleep": "#8ab17d",
    "sensor": "#b56576",
    "sensor_board": "#c9ced6",
}


def fragment_colour(number: int) -> str:
    """The colour of a fragment."""
    return FRAGMENTS[number % len(FRAGMENTS)]
