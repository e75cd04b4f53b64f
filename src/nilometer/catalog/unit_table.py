"""The unit atoms of UCUM (ucum.org, version 2.2) that sensors report in: code -> definition. Data only.

A definition is a number and a UCUM expression over other atoms, down to the seven base units. Metric atoms
take prefixes. Units used only in laboratories and pharmacies, and historic and apothecary measures, are left
out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

BASE: Final = ("m", "s", "g", "rad", "K", "C", "cd")
"""UCUM's base units: metre, second, gram, radian, kelvin, coulomb, candela."""

PREFIXES: Final[dict[str, Fraction]] = {
    prefix: Fraction(10) ** exponent
    for prefix, exponent in {
        "Q": 30, "R": 27, "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1,
        "d": -1, "c": -2, "m": -3, "u": -6, "n": -9, "p": -12, "f": -15, "a": -18, "z": -21, "y": -24, "r": -27, "q": -30,
    }.items()
} | {"Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40)}  # fmt: skip

METRIC: Final[dict[str, tuple[str, str]]] = {
    # dimensionless, angles
    "mol": ("602214076000000000000000", "1"),
    "sr": ("1", "rad2"),
    # mechanics
    "Hz": ("1", "s-1"),
    "N": ("1", "kg.m/s2"),
    "Pa": ("1", "N/m2"),
    "J": ("1", "N.m"),
    "W": ("1", "J/s"),
    "bar": ("100000", "Pa"),
    "t": ("1000", "kg"),
    "L": ("1", "dm3"),
    "l": ("1", "dm3"),
    "ar": ("100", "m2"),
    "pc": ("30856780000000000", "m"),
    "eV": ("0.0000000000000000001602176634", "J"),
    "u": ("0.00000000000000000000000166053906660", "g"),
    "[g]": ("9.80665", "m/s2"),
    "[c]": ("299792458", "m/s"),
    "[k]": ("0.00000000000000000000001380649", "J/K"),
    "gf": ("1", "g.[g]"),
    "dyn": ("1", "g.cm/s2"),
    "erg": ("1", "dyn.cm"),
    "P": ("1", "dyn.s/cm2"),
    "St": ("1", "cm2/s"),
    "Gal": ("1", "cm/s2"),
    "g%": ("1", "g/dL"),
    "m[H2O]": ("9.80665", "kPa"),
    "m[Hg]": ("133.3220", "kPa"),
    # electricity
    "A": ("1", "C/s"),
    "V": ("1", "J/C"),
    "F": ("1", "C/V"),
    "Ohm": ("1", "V/A"),
    "S": ("1", "Ohm-1"),
    "Wb": ("1", "V.s"),
    "T": ("1", "Wb/m2"),
    "H": ("1", "Wb/A"),
    "G": ("0.0001", "T"),
    # light
    "lm": ("1", "cd.sr"),
    "lx": ("1", "lm/m2"),
    # radiation, chemistry, information
    "Bq": ("1", "s-1"),
    "Ci": ("37000000000", "Bq"),
    "Gy": ("1", "J/kg"),
    "Sv": ("1", "J/kg"),
    "R": ("0.000258", "C/kg"),
    "kat": ("1", "mol/s"),
    "eq": ("1", "mol"),
    "osm": ("1", "mol"),
    "cal": ("4.184", "J"),
    "bit": ("1", "1"),
    "By": ("8", "bit"),
    "Bd": ("1", "s-1"),
}

NOT_METRIC: Final[dict[str, tuple[str, str]]] = {
    # numbers
    "10*": ("10", "1"),
    "10^": ("10", "1"),
    "[pi]": ("3.1415926535897932384626433832795028841971693993751058209749445923", "1"),
    "%": ("0.01", "1"),
    "[ppth]": ("0.001", "1"),
    "[ppm]": ("0.000001", "1"),
    "[ppb]": ("0.000000001", "1"),
    "[pptr]": ("0.000000000001", "1"),
    # angles
    "deg": ("2", "[pi].rad/360"),
    "'": ("1", "deg/60"),
    "''": ("1", "'/60"),
    "gon": ("0.9", "deg"),
    "circ": ("2", "[pi].rad"),
    # time
    "min": ("60", "s"),
    "h": ("60", "min"),
    "d": ("24", "h"),
    "wk": ("7", "d"),
    "a": ("365.25", "d"),
    "a_j": ("365.25", "d"),
    "a_t": ("365.24219", "d"),
    "a_g": ("365.2425", "d"),
    "mo": ("1", "a_j/12"),
    "mo_j": ("1", "a_j/12"),
    # mechanics
    "atm": ("101325", "Pa"),
    "att": ("1", "kgf/cm2"),
    "[psi]": ("1", "[lbf_av]/[in_i]2"),
    "[lbf_av]": ("1", "[lb_av].[g]"),
    "[in_i'H2O]": ("1", "m[H2O].[in_i]/m"),
    "[in_i'Hg]": ("1", "m[Hg].[in_i]/m"),
    "[Cal]": ("1", "kcal"),
    "[Btu]": ("1", "[Btu_th]"),
    "[Btu_th]": ("1.05435", "kJ"),
    "[Btu_IT]": ("1.05505585262", "kJ"),
    "[HP]": ("550", "[ft_i].[lbf_av]/s"),
    # customary lengths, areas, volumes, masses, speeds
    "AU": ("149597.870691", "Mm"),
    "Ao": ("0.1", "nm"),
    "[in_i]": ("2.54", "cm"),
    "[ft_i]": ("12", "[in_i]"),
    "[yd_i]": ("3", "[ft_i]"),
    "[mi_i]": ("5280", "[ft_i]"),
    "[fth_i]": ("6", "[ft_i]"),
    "[nmi_i]": ("1852", "m"),
    "[kn_i]": ("1", "[nmi_i]/h"),
    "[mil_i]": ("0.001", "[in_i]"),
    "[sin_i]": ("1", "[in_i]2"),
    "[sft_i]": ("1", "[ft_i]2"),
    "[syd_i]": ("1", "[yd_i]2"),
    "[cin_i]": ("1", "[in_i]3"),
    "[cft_i]": ("1", "[ft_i]3"),
    "[cyd_i]": ("1", "[yd_i]3"),
    "[ft_us]": ("1200", "m/3937"),
    "[rd_us]": ("16.5", "[ft_us]"),
    "[acr_us]": ("160", "[rd_us]2"),
    "[gal_us]": ("231", "[in_i]3"),
    "[qt_us]": ("1", "[gal_us]/4"),
    "[pt_us]": ("1", "[qt_us]/2"),
    "[foz_us]": ("1", "[gal_us]/128"),
    "[bbl_us]": ("42", "[gal_us]"),
    "[gal_br]": ("4.54609", "L"),
    "[lb_av]": ("7000", "[gr]"),
    "[oz_av]": ("1", "[lb_av]/16"),
    "[ston_av]": ("2000", "[lb_av]"),
    "[gr]": ("64.79891", "mg"),
    "[degR]": ("5", "K/9"),
}

ARBITRARY: Final = ("[iU]", "[IU]", "[arb'U]", "[NTU]", "[FNU]", "[CFU]", "[PFU]", "[TCID_50]")
"""Units defined by a procedure: each is comparable only with itself (UCUM does not say so for turbidity; we
do)."""

AFFINE: Final[dict[str, tuple[str, str, str, bool]]] = {
    # code: scale, offset in that unit, the proper unit, metric: value in the proper unit = (value + offset) * scale
    "Cel": ("1", "273.15", "K", True),
    "[degF]": ("5/9", "459.67", "K", False),
    "[degRe]": ("5/4", "218.52", "K", False),
}

LOGARITHMIC: Final[dict[str, tuple[float, str, str]]] = {
    # code: steps per factor of ten (a level of a field counts twice), reference value, proper unit
    "B": (1, "1", "1"),
    "Np": (2.302585092994046, "1", "1"),
    "B[SPL]": (2, "0.00002", "Pa"),
    "B[V]": (2, "1", "V"),
    "B[mV]": (2, "1", "mV"),
    "B[uV]": (2, "1", "uV"),
    "B[W]": (1, "1", "W"),
    "B[kW]": (1, "1", "kW"),
    "[pH]": (-1, "1", "mol/l"),
}
"""Levels: value in the proper unit = reference * 10 ** (value / steps). All but [pH] take prefixes."""

MISTAKES: Final[dict[str, str]] = {
    "°c": "Cel", "℃": "Cel", "degc": "Cel", "celsius": "Cel", "°f": "[degF]", "degf": "[degF]", "fahrenheit": "[degF]",
    "°": "deg", "degree": "deg", "degrees": "deg", "kelvin": "K", "ppm": "[ppm]", "ppb": "[ppb]", "ppt": "[pptr]",
    "percent": "%", "pct": "%", "rh": "%", "%rh": "%", "lux": "lx", "lumen": "lm", "volt": "V", "volts": "V", "ampere": "A",
    "amp": "A", "watt": "W", "ohm": "Ohm", "ω": "Ohm", "sec": "s", "second": "s", "seconds": "s", "minute": "min",
    "minutes": "min", "mins": "min", "hr": "h", "hour": "h", "hours": "h", "day": "d", "days": "d", "week": "wk",
    "month": "mo", "year": "a", "yr": "a", "meter": "m", "metre": "m", "meters": "m", "inch": "[in_i]", "in": "[in_i]",
    "foot": "[ft_i]", "feet": "[ft_i]", "ft": "[ft_i]", "yard": "[yd_i]", "mile": "[mi_i]", "miles": "[mi_i]",
    "mph": "[mi_i]/h", "kmh": "km/h", "kph": "km/h", "mps": "m/s", "knot": "[kn_i]", "knots": "[kn_i]", "kn": "[kn_i]",
    "kt": "[kn_i]", "psi": "[psi]", "mmhg": "mm[Hg]", "inhg": "[in_i'Hg]", "pascal": "Pa", "gram": "g",
    "liter": "L", "litre": "L", "gallon": "[gal_us]", "gal": "[gal_us]", "lb": "[lb_av]", "oz": "[oz_av]", "ntu": "[NTU]",
    "fnu": "[FNU]", "ph": "[pH]", "byte": "By", "bytes": "By", "kb": "kBy", "count": "{count}", "counts": "{count}",
    "rpm": "{revolutions}/min", "bpm": "{beats}/min", "db": "dB", "dba": "dB{A}", "db(a)": "dB{A}", "hertz": "Hz", "micron": "um",
    "ha": "har", "hectare": "har", "joule": "J", "newton": "N", "unitless": "1", "none": "1", "ratio": "1", "wh": "W.h",
    "kwh": "kW.h", "mwh": "MW.h", "ah": "A.h", "mah": "mA.h",
}  # fmt: skip
"""Common spellings, in lower case -> the UCUM code."""
