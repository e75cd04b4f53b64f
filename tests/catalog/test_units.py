"""Units: UCUM's grammar, exact conversion, hints."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import golden
from nilometer.catalog import unit_table
from nilometer.catalog.units import convert, convertible, linear, parse_unit
from nilometer.errors import CatalogError

USUAL = (
    "ug/m3 Cel [degF] % m/s hPa mm lx V [ppm] [ppb] dB deg 1 {count} mm/h W/m2 umol/mol uS/cm [NTU] J/(kg.K) L/min m3/s "
    "kW.h [kn_i] mm[Hg] [pH] dB[SPL] km/h 10*3/uL /min m[g] har {vehicles}/h kg{dry}/m2 By/s rad K Hz"
).split()
METRIC_ATOMS = [*unit_table.BASE, *unit_table.METRIC]
PLAIN_ATOMS = [*METRIC_ATOMS, *unit_table.NOT_METRIC, *unit_table.ARBITRARY]


@pytest.mark.parametrize("unit", USUAL)
def test_the_usual_units_are_known(unit: str) -> None:
    assert convertible(unit, unit)
    assert convert(7.25, unit, unit) == pytest.approx(7.25)


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (100, "Cel", "[degF]", 212),
        (-40, "[degF]", "Cel", -40),
        (0, "K", "Cel", -273.15),
        (1500, "mCel", "Cel", 1.5),
        (36, "km/h", "m/s", 10),
        (1, "[kn_i]", "km/h", 1.852),
        (1, "hPa", "mbar", 1),
        (1, "bar", "kPa", 100),
        (760, "mm[Hg]", "hPa", 1013.2472),
        (1, "mg/m3", "ug/m3", 1000),
        (50, "%", "1", 0.5),
        (1, "[ppm]", "[ppb]", 1000),
        (400, "umol/mol", "[ppm]", 400),
        (180, "deg", "rad", math.pi),
        (1, "kW.h", "MJ", 3.6),
        (1, "L/min", "m3/h", 0.06),
        (1, "mm/h", "L/m2/h", 1),
        (20, "dB", "1", 100),
        (100, "1", "dB", 20),
        (94, "dB[SPL]", "Pa", 1.0023744672545447),
        (7, "[pH]", "nmol/mL", 0.1),
        (2, "h", "min", 120),
        (1, "uS/cm", "mS/m", 0.1),
        (1, "[mi_i]/h", "m/s", 0.44704),
        (1, "m[g]", "cm/s2", 0.980665),
        (3, "10*6/m3", "/cm3", 3),
        (1, "KiBy", "bit", 8192),
    ],
)
def test_conversions(value: float, source: str, target: str, expected: float) -> None:
    assert convert(value, source, target) == pytest.approx(expected, rel=1e-12)


def test_a_conversion_rounds_once() -> None:
    assert convert(0.1, "m", "mm") == 100.0
    assert convert(21.3, "Cel", "K") == float(Fraction(21.3) + Fraction("273.15"))
    assert linear("Cel", "[degF]") == (1.8, 32.0)
    assert linear("km/h", "m/s") == (1000 / 3600, 0.0)
    assert linear("dB", "1") is None


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_stays_so(value: float) -> None:
    assert convert(value, "m", "mm") == value or math.isnan(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [("lx", "V"), ("m", "m2"), ("[NTU]", "1"), ("Cel", "J"), ("deg", "1"), ("g", "N")],
)
def test_different_quantities(one: str, other: str) -> None:
    assert not convertible(one, other)
    with pytest.raises(CatalogError, match="cannot be converted"):
        convert(1, one, other)


def test_operators_go_from_left_to_right() -> None:
    assert parse_unit("m/s.kg") == parse_unit("(m/s).kg") != parse_unit("m/(s.kg)")
    assert parse_unit("/m/s") == parse_unit("m-1.s-1")
    assert parse_unit("m{up}/s{each}") == parse_unit("m/s")
    assert parse_unit("m+2") == parse_unit("m2")


@given(st.sampled_from(METRIC_ATOMS), st.sampled_from(sorted(unit_table.PREFIXES)))
def test_a_prefix_is_a_factor(atom: str, prefix: str) -> None:
    # What reads as an atom of its own is that atom: cd is no centiday, Pa no peta-year.
    assume(prefix + atom not in PLAIN_ATOMS and prefix + atom not in unit_table.AFFINE)
    prefixed = parse_unit(prefix + atom)
    assume(not any((prefix + atom).startswith(other) and other != prefix for other in unit_table.PREFIXES))
    assert prefixed.dimension == parse_unit(atom).dimension
    assert prefixed.factor == parse_unit(atom).factor * unit_table.PREFIXES[prefix]


@st.composite
def products(draw: st.DrawFn) -> str:
    terms = draw(
        st.lists(
            st.tuples(st.sampled_from(PLAIN_ATOMS), st.integers(-3, 3), st.sampled_from("./")),
            min_size=1,
            max_size=3,
        )
    )
    text = ""
    for atom, power, operator in terms:
        text += (operator if text else "") + atom + (str(power) if power != 1 else "")
    return text


@given(products(), products())
def test_products_multiply_and_quotients_divide(left: str, right: str) -> None:
    first, second = parse_unit(left), parse_unit(right)
    product, quotient = parse_unit(f"({left}).({right})"), parse_unit(f"({left})/({right})")
    assert product.factor == first.factor * second.factor
    assert quotient.factor == first.factor / second.factor
    assert quotient.dimension == parse_unit(f"({left})/({right})").dimension


@given(products(), st.floats(-1e6, 1e6))
def test_there_and_back_again(unit: str, value: float) -> None:
    factor = float(parse_unit(unit).factor)
    assume(1e-100 < factor < 1e100)
    base = ".".join(f"{name}{power}" for name, power in parse_unit(unit).dimension) or "1"
    assert convert(convert(value, unit, base), base, unit) == pytest.approx(value, rel=1e-12)


@given(st.text(st.sampled_from("mskgCeldB[]{}()./%10*^+-23 'µ³°_") | st.characters(), max_size=12))
def test_any_text_is_a_unit_or_a_clear_error(text: str) -> None:
    error = None
    try:
        assert parse_unit(text).factor > 0
    except CatalogError as raised:
        error = raised
    if error is not None:
        assert error.hint
        assert error.message.startswith("no unit '")


def test_wrong_units(rewrite: bool) -> None:
    def answer(text: str) -> str:
        try:
            value, _, rest = text.partition(" ")
            source, _, target = rest.partition(" TO ")
            if target:
                return str(convert(float(value), source, target))
            return str(parse_unit(text.strip("|")))
        except CatalogError as error:
            return str(error)

    golden.read(Path(__file__).with_name("unit_errors.txt")).check(answer, rewrite=rewrite)
