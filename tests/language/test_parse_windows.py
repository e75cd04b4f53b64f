"""Windows in every spelling of language.md and of the papers."""

from __future__ import annotations

import pytest

from nilometer.errors import QuerySyntaxError
from nilometer.language import ast, parse
from nilometer.language.ast import Amount, AtWindow, FromToWindow, NowWindow, RangeWindow, UnboundedWindow


def window(text: str) -> ast.Window | None:
    query = parse(f"SELECT * FROM river [{text}]")
    assert isinstance(query, ast.Select)
    (source,) = query.sources
    assert isinstance(source, ast.ExtentSource)
    return source.window


QUARTER = Amount(15, "MINUTES")
TWO_HOURS = Amount(2, "HOURS")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("NOW", NowWindow()),
        ("now", NowWindow()),
        ("NOW SLIDE 5 SECONDS", NowWindow(Amount(5, "SECONDS"))),
        ("AT NOW", AtWindow(None)),
        ("AT NOW - 15 MINUTES", AtWindow(QUARTER)),
        ("AT NOW-15 MINUTES", AtWindow(QUARTER)),
        ("AT -15 MINUTES", AtWindow(QUARTER)),
        ("AT 15 MINUTES", AtWindow(QUARTER)),
        ("AT NOW - 15 MINUTES SLIDE 1 HOUR", AtWindow(QUARTER, Amount(1, "HOURS"))),
        ("FROM NOW - 2 HOURS TO NOW", FromToWindow(TWO_HOURS, None)),
        ("FROM NOW TO NOW-2 HOURS", FromToWindow(None, TWO_HOURS)),
        ("FROM NOW - 2 HOURS TO NOW SLIDE 1 HOUR", FromToWindow(TWO_HOURS, None, Amount(1, "HOURS"))),
        ("FROM NOW - 2 HOURS TO NOW - 15 MINUTES", FromToWindow(TWO_HOURS, QUARTER)),
        ("FROM -2 HOURS TO -15 MINUTES", FromToWindow(TWO_HOURS, QUARTER)),
        ("FROM NOW-10 TO NOW SLIDE 5 SECONDS", FromToWindow(Amount(10), None, Amount(5, "SECONDS"))),
        ("FROM NOW - 10 ROWS TO NOW", FromToWindow(Amount(10, "ROWS"), None)),
        ("FROM NOW - w TO NOW", FromToWindow(Amount("w"), None)),
        ("NOW - 7 DAYS", RangeWindow(Amount(7, "DAYS"))),
        ("NOW-7 DAYS SLIDE 1 DAY", RangeWindow(Amount(7, "DAYS"), Amount(1, "DAYS"))),
        ("RANGE 10 MINUTES", RangeWindow(Amount(10, "MINUTES"))),
        ("range 10 min", RangeWindow(Amount(10, "MINUTES"))),
        ("RANGE 10min", RangeWindow(Amount(10, "MINUTES"))),
        ("RANGE 1.5 HOURS", RangeWindow(Amount(1.5, "HOURS"))),
        ("RANGE 10 ROWS SLIDE 10 ROWS", RangeWindow(Amount(10, "ROWS"), Amount(10, "ROWS"))),
        ("RANGE 10 SLIDE 5 SECONDS", RangeWindow(Amount(10), Amount(5, "SECONDS"))),
        ("RANGE w", RangeWindow(Amount("w"))),
        ("RANGE w SLIDE v", RangeWindow(Amount("w"), Amount("v"))),
        ("RANGE n ROWS", RangeWindow(Amount("n", "ROWS"))),
        ('RANGE "min"', RangeWindow(Amount("min"))),
        ("UNBOUNDED", UnboundedWindow()),
        ("RANGE UNBOUNDED", UnboundedWindow()),
        ("UNBOUNDED SLIDE 1 HOUR", UnboundedWindow(Amount(1, "HOURS"))),
    ],
)
def test_windows(text: str, tree: ast.Window) -> None:
    assert window(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("AT NOW + 5 SECONDS", AtWindow(Amount(-5, "SECONDS"))),
        ("FROM NOW TO NOW + 5 SECONDS", FromToWindow(None, Amount(-5, "SECONDS"))),
        ("NOW + 5 SECONDS", RangeWindow(Amount(-5, "SECONDS"))),
        ("RANGE -5 SECONDS", RangeWindow(Amount(-5, "SECONDS"))),
    ],
)
def test_the_future_is_negative_for_the_binder_to_refuse(text: str, tree: ast.Window) -> None:
    assert window(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NOW NOW",
        "AT",
        "AT MINUTES",
        "FROM NOW",
        "FROM NOW TO",
        "TO NOW",
        "RANGE",
        "RANGE MINUTES",
        "RANGE 10 MINUETS",
        "RANGE 10 MINUTES MINUTES",
        "NOW - ",
        "NOW + w",
        "RANGE -w",
        "SLIDE 5 SECONDS",
        "NOW SLIDE",
        "NOW SLIDE -5 SECONDS",
        "10 MINUTES",
        "RANGE '10 MINUTES'",
        "RANGE 10 ROWS, 5",
        "NOW - 1 HOUR - 5 MINUTES",
    ],
)
def test_what_is_no_window(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        window(text)


def test_a_window_knows_its_place() -> None:
    text = "SELECT * FROM river [RANGE 10 MINUTES] r"
    query = parse(text)
    assert isinstance(query, ast.Select)
    source = query.sources[0]
    assert isinstance(source, ast.ExtentSource)
    assert isinstance(source.window, RangeWindow)
    assert text[source.window.span.start : source.window.span.end] == "[RANGE 10 MINUTES]"
    assert text[source.window.length.span.start : source.window.length.span.end] == "10 MINUTES"
