"""Units that are valid UCUM codes and probably mean something else: `C` is the coulomb.

>>> doubt("temperature", "C")
"temperature UNIT 'C' is the coulomb; for degrees Celsius write UNIT 'Cel'"
>>> doubt("charge", "C") is None, doubt("temperature", "Cel") is None
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nilometer.catalog.extents import Stream, Table

_DOUBTFUL: Final[dict[str, tuple[str, str, str, tuple[str, ...]]]] = {
    # code: what it is, what is probably meant, its code, parts of names with which it is probably right
    "C": ("the coulomb", "degrees Celsius", "Cel", ("charge", "coulomb")),
    "F": ("the farad", "degrees Fahrenheit", "[degF]", ("capacit", "farad")),
    "R": ("the roentgen", "degrees Rankine", "[degR]", ("dose", "expos", "radiat")),
    "S": ("the siemens", "seconds", "s", ("conduct", "siemens", "ec")),
    "ft": ("the femtotonne", "feet", "[ft_i]", ()),
    "pt": ("the picotonne", "pints", "[pt_us]", ()),
    "kt": ("the kilotonne", "knots", "[kn_i]", ("mass", "load", "yield")),
    "B": ("the bel", "bytes", "By", ("level", "gain", "loss", "sound")),
    "P": ("the poise", "pascals", "Pa", ("viscos",)),
    "G": ("the gauss", "standard gravity", "[g]", ("magnet", "field", "gauss")),
    "H": ("the henry", "hours", "h", ("induct",)),
    "T": ("the tesla", "tonnes", "t", ("magnet", "field", "flux")),
    "Gal": ("the gal, an acceleration", "gallons", "[gal_us]", ("grav", "accel")),
}


def doubt(column: str, unit: str) -> str | None:
    """A sentence about a unit that is probably not meant."""
    known = _DOUBTFUL.get(unit)
    if known is None or any(part in column.lower() for part in known[3]):
        return None
    what, meant, code, _ = known
    return f"{column} UNIT '{unit}' is {what}; for {meant} write UNIT '{code}'"


def doubtful_units(extent: Stream | Table) -> Iterable[str]:
    """The doubts about the units of a stream's or table's columns."""
    for column in extent.columns:
        found = doubt(column.name, column.unit) if column.unit is not None else None
        if found is not None:
            yield f"{extent.name}: {found}"
