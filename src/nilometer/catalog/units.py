"""Parses UCUM codes to units that can be compared and converted: UCUM's grammar with dimension vectors.

The grammar is complete (prefixes, `.`, `/`, exponents, parentheses, `{annotations}`, special units such as
`Cel` and `dB`); the atoms are those of unit_table.py. Factors are exact fractions, so a conversion rounds
once.

>>> convert(100, "Cel", "[degF]"), convert(36, "km/h", "m/s"), convert(3, "mg/m3", "ug/L")
(212.0, 10.0, 3.0)
>>> convertible("hPa", "mm[Hg]"), convertible("lx", "V")
(True, False)
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from nilometer.catalog.near_misses import near_misses
from nilometer.catalog.unit_table import (
    AFFINE,
    ARBITRARY,
    BASE,
    LOGARITHMIC,
    METRIC,
    MISTAKES,
    NOT_METRIC,
    PREFIXES,
)
from nilometer.errors import CatalogError

Dimension = tuple[tuple[str, int], ...]
"""Exponents of the base units, sorted by unit, without zeros."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A parsed unit: the size of 1 in base units, or for a special unit the conversion of a value to base
    units.

    With `offset`: value in base units = (value * step + offset) * factor. With `steps`: factor * 10 ** (value
    * step / steps).
    """

    factor: Fraction
    dimension: Dimension
    offset: Fraction = Fraction(0)
    steps: float | None = None
    step: Fraction = Fraction(1)

    @property
    def special(self) -> bool:
        """Whether it has its own zero point or is a level, and so cannot be part of a product."""
        return bool(self.offset) or self.steps is not None

    def to_base(self, value: Fraction) -> Fraction:
        """Converts a value of this unit to base units."""
        if self.steps is None:
            return (value * self.step + self.offset) * self.factor
        return self.factor * Fraction(10 ** float(value * self.step / Fraction(self.steps)))

    def from_base(self, value: Fraction) -> Fraction:
        """Converts a value in base units to this unit."""
        if self.steps is None:
            return (value / self.factor - self.offset) / self.step
        return Fraction(math.log10(value / self.factor) * self.steps) / self.step


ONE = Unit(Fraction(1), ())


def parse_unit(text: str) -> Unit:
    """The unit; a CatalogError that names the unknown part, with a hint."""
    return _parse(text)


def canonical_code(text: str) -> str:
    """The UCUM code; a common spelling such as 'degF' or '°C' is taken for its code.

    >>> canonical_code("degF"), canonical_code("cm")
    ('[degF]', 'cm')
    """
    try:
        parse_unit(text)
    except CatalogError:
        mended = _mended(text)
        if mended is None:
            raise
        return mended
    return text


def convertible(source: str, target: str) -> bool:
    """Whether values of one unit can be converted to the other."""
    return parse_unit(source).dimension == parse_unit(target).dimension


def convert(value: float, source: str, target: str) -> float:
    """Converts a value from `source` to `target`; a CatalogError if they measure different things."""
    from_unit, to_unit = _pair(source, target)
    if not math.isfinite(value):
        return float(value)
    try:
        base = from_unit.to_base(Fraction(value))
    except OverflowError:
        raise CatalogError(
            f"{value} {source} is too large to be converted", hint="a level counts powers of ten"
        ) from None
    if base <= 0 and to_unit.steps is not None:
        raise CatalogError(
            f"{value} {source} cannot be given in '{target}'",
            hint=f"'{target}' is a level: only positive values have one",
        )
    try:
        return float(to_unit.from_base(base))
    except OverflowError:
        raise CatalogError(f"{value} {source} is too large to be given in '{target}'") from None


def linear(source: str, target: str) -> tuple[float, float] | None:
    """(scale, offset) such that target = source * scale + offset, for whole columns; None if a level is
    involved."""
    from_unit, to_unit = _pair(source, target)
    if from_unit.steps is not None or to_unit.steps is not None:
        return None
    offset = to_unit.from_base(from_unit.to_base(Fraction(0)))
    return float(to_unit.from_base(from_unit.to_base(Fraction(1))) - offset), float(offset)


def _pair(source: str, target: str) -> tuple[Unit, Unit]:
    if not convertible(source, target):
        raise CatalogError(
            f"'{source}' cannot be converted to '{target}'",
            detail=f"'{source}' is {_describe(source)}, '{target}' is {_describe(target)}",
            hint="convert between units that measure the same quantity",
        )
    return parse_unit(source), parse_unit(target)


def _describe(text: str) -> str:
    dimension = parse_unit(text).dimension
    return ".".join(unit if power == 1 else f"{unit}{power}" for unit, power in dimension) or "a plain number"


# ---- the grammar -----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<annotation>\{[^{}]*\})
      | (?P<operator>[./()])
      | (?P<power10>10[*^])(?P<exponent10>[+-]?\d+)?
      | (?P<number>\d+)(?![^./(){}])
      | (?P<symbol>(?:\[[^\[\]]*\]|[^\[\]./(){}\s\d+-])+)(?P<exponent>[+-]?\d+)?""",
    re.VERBOSE | re.ASCII,
)


LONGEST = 100
"""The longest unit in characters, and the largest exponent; no measurement needs more."""


@lru_cache(1024)
def _parse(text: str) -> Unit:
    if not text:
        raise _error(text, text, "the unit of a plain number is written '1'")
    if len(text) > LONGEST:
        raise _error(text[:20] + "...", text[:20] + "...", f"a unit has at most {LONGEST} characters")
    parser = _Parser(text)
    unit = parser.term(leading_slash=True)
    if parser.place < len(text):
        mended = _mended(text)
        hint = f"write '{mended}'" if mended else "units are joined by '.' and '/' alone, without blanks"
        rest = text[parser.place :]
        raise _error(text, rest, "there is a ')' too many" if rest.startswith(")") else hint)
    return unit


def _power(text: str, exponent: str | None) -> int:
    power = int(exponent or 1)
    if abs(power) > LONGEST:
        raise _error(text, exponent or "", f"an exponent is at most {LONGEST}")
    return power


class _Parser:
    """Recursive descent over one text; `place` is where the next token starts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def term(self, leading_slash: bool = False) -> Unit:
        """component {(. | /) component}, from left to right; a whole unit may start with /."""
        operator = "/" if leading_slash and self.text.startswith("/", self.place) else "."
        self.place += operator == "/"
        unit = ONE
        while True:
            start = self.place
            right = self.component()
            unit = self.combine(unit, operator, right, start)
            if self.text[self.place : self.place + 1] not in (".", "/"):
                return unit
            operator = self.text[self.place]
            self.place += 1

    def combine(self, left: Unit, operator: str, right: Unit, start: int) -> Unit:
        if left == ONE and operator == ".":
            return right
        if left.special or right.special:
            part = self.text[start : self.place] if right.special else self.text[: start - 1]
            raise _misplaced(self.text, part, "in a product; use a plain unit there, such as K for Cel")
        sign = 1 if operator == "." else -1
        return Unit(left.factor * right.factor**sign, _times(left.dimension, right.dimension, sign))

    def component(self) -> Unit:
        """An annotation, a number, a symbol with its exponent and annotation, or a term in parentheses."""
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            rest = self.text[self.place :]
            raise _error(self.text, rest or self.text, self.missing(rest))
        if match["operator"]:
            return self.parentheses(match["operator"])
        self.place = match.end()
        if match["annotation"]:
            return ONE
        if match["number"]:
            if int(match["number"]) == 0:
                raise _error(self.text, match["number"], "a factor cannot be 0")
            unit = Unit(Fraction(int(match["number"])), ())
        elif match["power10"]:
            unit = Unit(Fraction(10) ** _power(self.text, match["exponent10"]), ())
        else:
            unit = self.symbol(match["symbol"], match["exponent"])
        annotation = re.compile(r"\{[^{}]*\}").match(self.text, self.place)
        self.place = annotation.end() if annotation else self.place
        return unit

    def missing(self, rest: str) -> str:
        """The reason why no component starts here."""
        if not rest:
            return "a unit is missing at the end"
        if rest[0] in "{[":
            return f"a '{'}' if rest[0] == '{' else ']'}' is missing"
        return "leave out the blanks" if rest[0].isspace() else _hint(self.text, rest)

    def parentheses(self, operator: str) -> Unit:
        if operator != "(":
            raise _error(self.text, self.text[self.place :], f"a unit is missing before '{operator}'")
        self.place += 1
        unit = self.term()
        if not self.text.startswith(")", self.place):
            raise _error(self.text, self.text, "a ')' is missing")
        self.place += 1
        return unit

    def symbol(self, symbol: str, exponent: str | None) -> Unit:
        unit = _symbol(symbol)
        if unit is None:
            raise _error(self.text, symbol, _hint(self.text, symbol))
        if exponent is None:
            return unit
        if unit.special:
            raise _misplaced(self.text, symbol, "with an exponent")
        power = _power(self.text, exponent)
        return Unit(
            unit.factor**power, tuple((base, count * power) for base, count in unit.dimension if power)
        )


@cache
def _symbol(symbol: str) -> Unit | None:
    """An atom, or a prefix and a metric atom."""
    whole = _atom(symbol)
    if whole is not None:
        return whole[0]
    for length in (2, 1):
        prefix = PREFIXES.get(symbol[:length])
        atom = _atom(symbol[length:]) if prefix is not None else None
        if prefix is None or atom is None or not atom[1]:
            continue
        unit = atom[0]
        if unit.special:
            return Unit(unit.factor, unit.dimension, unit.offset, unit.steps, prefix)
        return Unit(unit.factor * prefix, unit.dimension)
    return None


@cache
def _atom(code: str) -> tuple[Unit, bool] | None:
    """The unit of an atom, and whether it takes prefixes."""
    if code in BASE:
        return Unit(Fraction(1), ((code, 1),)), True
    if code in ARBITRARY:
        return Unit(Fraction(1), ((code, 1),)), code in ("[iU]", "[IU]")
    if code in AFFINE:
        scale, offset, proper, metric = AFFINE[code]
        base = parse_unit(proper)
        return Unit(Fraction(scale) * base.factor, base.dimension, Fraction(offset)), metric
    if code in LOGARITHMIC:
        steps, reference, proper = LOGARITHMIC[code]
        base = parse_unit(proper)
        return Unit(Fraction(reference) * base.factor, base.dimension, steps=steps), code != "[pH]"
    for table, metric in ((METRIC, True), (NOT_METRIC, False)):
        if code in table:
            number, proper = table[code]
            base = parse_unit(proper)
            return Unit(Fraction(number) * base.factor, base.dimension), metric
    return None


def _times(left: Dimension, right: Dimension, sign: int) -> Dimension:
    powers = dict(left)
    for base, power in right:
        powers[base] = powers.get(base, 0) + sign * power
    return tuple(sorted((base, power) for base, power in powers.items() if power))


# ---- errors ----------------------------------------------------------------------------------------------------------

_LETTERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻µμ·", "0123456789-uu.")


def _error(text: str, part: str, hint: str | None) -> CatalogError:
    message = f"no unit '{text}'" if part == text else f"no unit '{text}': the part '{part}' means nothing"
    return CatalogError(message, detail="units are UCUM codes, such as Cel, %, m/s, ug/m3, hPa", hint=hint)


def _misplaced(text: str, part: str, where: str) -> CatalogError:
    message = f"no unit '{text}': '{part}' has a zero point of its own"
    return CatalogError(message, hint=f"'{part}' cannot stand {where}")


def _hint(text: str, part: str) -> str:
    """A guess at what the whole text or the part was meant to be."""
    for wrong in dict.fromkeys((text, part)):
        mended = _mended(wrong)
        if mended is not None:
            return f"write '{mended}'"
    atoms = [*BASE, *METRIC, *NOT_METRIC, *AFFINE, *LOGARITHMIC, *ARBITRARY]
    prefixed = [prefix + atom for prefix in ("k", "m", "u", "h", "c") for atom in (*BASE, *METRIC)]
    close = near_misses(part, [*prefixed, *atoms])
    if close is not None and close.startswith("did you mean"):
        return close
    return "if it only counts things, write it in braces, as in '{vehicles}'; else see ucum.org"


def _mended(wrong: str) -> str | None:
    """The UCUM code for a common spelling: °C, µg/m³, m^3, kWh."""
    plain = wrong.translate(_LETTERS).replace("**", "").replace("^", "").replace("*", ".")
    known = MISTAKES.get(wrong.lower()) or MISTAKES.get(plain.lower())
    if known is None and plain != wrong:
        try:
            parse_unit(plain)
        except CatalogError:
            return None
        return plain
    return known
