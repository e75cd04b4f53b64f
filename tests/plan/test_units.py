"""Units of expressions: what keeps one, what clashes, and that a conversion is the catalog's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog import Catalog, Stream, stream_columns, units
from nilometer.errors import BindError
from nilometer.language import parse
from nilometer.plan.bind import bind
from nilometer.plan.logical import Project
from nilometer.plan.node import walk_plan
from nilometer.plan.scalar import evaluate
from nilometer.types import FLOAT, INT, Column

CATALOG = Catalog()
CATALOG.add_stream(
    Stream(
        "s",
        stream_columns(
            (
                Column("cm", INT, "cm"),
                Column("m", FLOAT, "m"),
                Column("also_cm", FLOAT, "10*-2.m"),
                Column("celsius", FLOAT, "Cel"),
                Column("kelvin", FLOAT, "K"),
                Column("bare", FLOAT),
            )
        ),
    )
)


def projection(text: str, window: str = "") -> Project:
    query = f"SELECT {text} AS c FROM s {window}"
    plan = bind(parse(query), CATALOG, text=query)
    return next(node for node in walk_plan(plan) if isinstance(node, Project))


@pytest.mark.parametrize(
    "text",
    [
        "cm > m",
        "cm + m",
        "m - cm",
        "celsius < kelvin",
        "abs(cm) >= round(m, 1)",
        "coalesce(cm, 0) = m",
        "cm + 1 = m",
        "m BETWEEN 0 AND cm",
        "cm IS DISTINCT FROM m",
        "nullif(cm, 3) = m",
        "convert(cm, 'm') > cm",
        "m % cm",
        "m > celsius",
    ],
)
def test_units_that_clash(text: str) -> None:
    with pytest.raises(BindError, match=r"'cm'|'Cel'|'m'"):
        projection(text)


@pytest.mark.parametrize(
    "text",
    [
        "cm > 3",
        "cm > bare",
        "cm / 100 > m",
        "cm * m",
        "cm > also_cm",
        "convert(cm, 'm') > m",
        "convert(m, 'cm') + cm",
        "m > cm / 100.0",
    ],
)
def test_units_that_do_not_clash(text: str) -> None:
    projection(text)


def test_the_hint_is_the_conversion_and_binds() -> None:
    with pytest.raises(BindError) as caught:
        projection("m > cm")
    assert caught.value.hint == "write convert(cm, 'm')"
    projection("m > convert(cm, 'm')")


def test_a_result_carries_its_unit() -> None:
    assert projection("convert(cm, 'mm')").items[0].unit == "mm"
    assert projection("convert(celsius, '°F')").items[0].unit == "[degF]"
    assert projection("convert(MAX(cm), 'm')", "[NOW]").items[0].unit == "m"
    assert projection("cm + 1").items[0].unit is None


PAIRS = [
    ("m", "km"),
    ("cm", "[in_i]"),
    ("Cel", "[degF]"),
    ("[degF]", "K"),
    ("dB", "1"),
    ("1", "dB"),
    ("mbar", "hPa"),
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(value=st.floats(0.001, 200.0))
def test_a_conversion_is_the_catalogs(source: str, target: str, value: float) -> None:
    catalog = Catalog()
    catalog.add_stream(Stream("s", stream_columns((Column("v", FLOAT, source),))))
    plan = bind(parse(f"SELECT convert(v, '{target}') AS c FROM s"), catalog)
    item = next(node for node in walk_plan(plan) if isinstance(node, Project)).items[0]
    found = evaluate(item.expression, {"s.v": value}, None)
    assert math.isclose(found, units.convert(value, source, target), rel_tol=1e-9, abs_tol=1e-9)
