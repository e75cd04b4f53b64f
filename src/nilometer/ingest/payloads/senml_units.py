"""Converts values in SenML's unit symbols (RFC 8428 section 12.1, RFC 8798) to the declared UCUM unit.

Most SenML symbols are UCUM's; the others are listed. The law: a unit of another quantity is refused, never
guessed.

>>> conversion("%RH", "%"), conversion("Cel", "K"), conversion("m", "Cel")
((1.0, 0.0), (1.0, 273.15), None)
"""

from __future__ import annotations

from functools import lru_cache

from nilometer.catalog.units import linear
from nilometer.errors import CatalogError

UCUM: dict[str, str] = {
    "/": "1",
    "%RH": "%",
    "%EL": "%",
    "EL": "s",
    "/100": "%",
    "/1000": "[ppth]",
    "ppm": "[ppm]",
    "ppb": "[ppb]",
    "pH": "[pH]",
    "count": "1",
    "1/s": "/s",
    "1/min": "/min",
    "beat/min": "/min",
    "beats": "1",
    "lat": "deg",
    "lon": "deg",
    "C": "C",
    "VA": "V.A",
    "VAs": "V.A.s",
    "kVA": "kV.A",
    "kVAh": "kV.A.h",
    "var": "V.A",
    "vars": "V.A.s",
    "kvar": "kV.A",
    "varh": "V.A.h",
    "kvarh": "kV.A.h",
    "As": "A.s",
    "Ah": "A.h",
    "Wh": "W.h",
    "kWh": "kW.h",
    "Wh/km": "W.h/km",
    "J/m": "J/m",
    "B": "By",
    "KiB": "KiBy",
    "GB": "GBy",
    "B/s": "By/s",
    "MB/s": "MBy/s",
    "Mbit/s": "Mbit/s",
    "Ohm": "Ohm",
    "NTU": "{NTU}",
    "dBm": "dB[mW]",
}
"""SenML symbols that UCUM spells differently."""


@lru_cache(1024)
def conversion(found: str, declared: str) -> tuple[float, float] | None:
    """The (scale, offset) from one unit to the other; None if there is none, or if a level (decibels) is
    involved."""
    source = UCUM.get(found, found)
    if declared in (found, source):
        return 1.0, 0.0
    try:
        return linear(source, declared)
    except CatalogError:
        return None
