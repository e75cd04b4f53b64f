"""What a notebook shows: a table with a small chart; a live query is updated in place."""

from __future__ import annotations

from typing import Any

import pytest

import nilometer
from nilometer.engine.notebook import SHOWN, Page, watch
from nilometer.errors import ConfigurationError
from nilometer.live.small_chart import chart_of


class Screen:
    """Remembers what was shown, as a notebook's front end does."""

    def __init__(self) -> None:
        self.pages: list[Page] = []

    def __call__(self, page: Page) -> Screen:
        self.pages.append(page)
        return self

    def update(self, page: Page) -> None:
        self.pages.append(page)


def rows(count: int) -> list[dict[str, Any]]:
    return [{"time": f"t{n}", "id": "<b>", "pm25": float(n)} for n in range(count)]


def test_a_live_query_is_updated() -> None:
    screen = Screen()
    assert watch(iter(rows(50)), "SELECT <x>", screen) == 50
    first, last = screen.pages[0], screen.pages[-1]._repr_mimebundle_()
    assert "0 rows so far" in first.html
    assert "50 rows so far" in last["text/plain"]
    html = last["text/html"]
    assert html.count("<tr>") == SHOWN + 1
    assert html.index("t49") < html.index("t48"), "the newest first"
    assert "<polyline" in html
    assert "<b>" not in html, "values are escaped"
    assert len(screen.pages) < 10, "not at every row"


def test_an_interrupted_cell_keeps_what_it_shows() -> None:
    def interrupted() -> Any:
        yield from rows(3)
        raise KeyboardInterrupt

    screen = Screen()
    assert watch(interrupted(), "q", screen) == 3
    assert "3 rows so far" in screen.pages[-1].html


def test_an_answer_has_a_small_chart() -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM air (pm25 FLOAT) PUSHED")
    database.append("air", [{"time": n * 1_000_000, "id": 1, "pm25": n * 1.5} for n in range(5)])
    assert "<polyline" in database.sql("SELECT time, pm25 FROM air").run()._repr_html_()
    assert "<polyline" not in database.sql("SELECT pm25 FROM air").run()._repr_html_(), (
        "without time, no line"
    )
    with pytest.raises(ConfigurationError, match="no notebook"):
        database.sql("SELECT time, pm25 FROM air").watch(seconds=0.1)


def test_odd_numbers_are_left_out() -> None:
    odd = [{"x": float("nan")}, {"x": 1.0}, {"x": None}, {"x": 3.0}, {"x": True}]
    assert "1 to 3" in chart_of(odd, ["x"])
    assert chart_of([{"x": 2.0}] * 3, ["x"]).count("<polyline") == 1
    assert len(chart_of([{"x": float(n)} for n in range(100_000)], ["x"])) < 10_000
