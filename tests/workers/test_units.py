"""Units in worker processes: found, described, run, and stopped; and the contract tests that their authors run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import nilometer
from nilometer.errors import BindError, ConfigurationError, DataError, NilometerError, ResourceError
from nilometer.language import parse, print_statement
from nilometer.live.query_list import RunState
from nilometer.testing import check_function, check_unit
from nilometer.workers import settings, units
from nilometer.workers.example_unit import Differences
from nilometer.workers.settings import PythonSettings
from poison import feed, rows_of, run

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(settings, "_taken", [PythonSettings(str(HERE))])
    yield
    units.close_idle()


def answer(question: str, on: str = "gateway", seconds: float = 5) -> list[Any]:
    database = nilometer.connect()
    settings._taken[:] = [
        PythonSettings(str(HERE), seconds=seconds)
    ]  # connect reads those of the working directory
    database.execute("CREATE STREAM s (x FLOAT, name STRING, n INT) PUSHED")
    rows = [(1, 1, 2.0, "a", 1), (2, 2, 6.5, "b", 2), (3, 1, None, "c", 3), (4, 1, 0.5, "none", 4)]
    names = ("time", "id", "x", "name", "n")
    database.append("s", [dict(zip(names, (row[0] * 1_000_000, *row[1:]), strict=True)) for row in rows])
    return [tuple(row) for row in database.sql(question).run(on=on).rows]


@pytest.mark.parametrize("on", ["gateway", "reference"])
def test_values_of_every_type(on: str) -> None:
    found = answer("SELECT id, label, pair, wet FROM UNIT 'units:Named'(s, x, name)", on)
    plain = [(row[0], row[1], tuple(row[2]), row[3]) for row in found]
    assert plain == [
        (1, "a1", (1, 2), True),
        (2, "b2", (1, 6), True),
        (2, "b2", (1, 6), True),
        (1, None, (1, 0), False),
    ]
    assert answer("SELECT y FROM UNIT 'units:Plain'(s, x)", on) == [(2.0,), (6.5,), (0.5,)]
    assert answer("SELECT y FROM UNIT 'units:Silent'(s, x)", on) == []


@pytest.mark.parametrize(
    ("unit", "error", "why"),
    [
        ("Raises", DataError, "the unit units:Raises failed: ValueError: no such spectrum"),
        ("OtherColumns", DataError, "it gave other columns than it has declared: y, z"),
        ("Backwards", DataError, "'row' must be the numbers of rows"),
        ("Grows", ResourceError, r"units:Grows took more than 150\.0 MB of memory"),
        ("Missing", NilometerError, "has no 'Missing'"),
        ("Reserved", DataError, "cannot give a column 'time'"),
    ],
)
def test_units_that_break_the_contract(unit: str, error: type[NilometerError], why: str) -> None:
    with pytest.raises(error, match=why):
        answer(f"SELECT y FROM UNIT 'units:{unit}'(s, x)")


def test_a_unit_that_hangs_is_stopped() -> None:
    with pytest.raises(ResourceError, match=r"units:Hangs took more than 0\.3 seconds by the clock"):
        answer("SELECT y FROM UNIT 'units:Hangs'(s, x)", seconds=0.05)


@pytest.mark.parametrize(
    ("source", "error", "why"),
    [
        ("UNIT nobody(s, x)", ConfigurationError, "no unit 'nobody'"),
        ("UNIT 'os:system'(s, x)", ConfigurationError, "the unit 'os:system' is not allowed"),
        ("""UNIT(s, x USING "os:system" GIVES "y INT")""", ConfigurationError, "'os:system' is not allowed"),
        ("UNIT differences(s, x, n)", BindError, "takes 1 columns, not 2"),
        ("UNIT differences(s, n)", BindError, "takes FLOAT here, not INT"),
    ],
)
def test_refused(source: str, error: type[NilometerError], why: str) -> None:
    with pytest.raises(error, match=why):
        answer(f"SELECT * FROM {source}")


def test_installed_units_are_found_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint("plain", "units:Plain", group)]

    monkeypatch.setattr(units, "entry_points", points)
    assert answer("SELECT y FROM UNIT plain(s, x)") == [(2.0,), (6.5,), (0.5,)]


def test_then_is_a_unit_over_the_query(tmp_path: Path) -> None:
    text = "CREATE QUERY q AS SELECT id, time, n * 1.0 AS y FROM s THEN differences(y WITH (2))"
    same = "CREATE QUERY q AS SELECT * FROM UNIT differences((SELECT id, time, n * 1.0 AS y FROM s) answers, y WITH (2))"
    assert print_statement(parse(text)) == print_statement(parse(same))
    feed(tmp_path, "a", [(1, 1, 4), (2, 2, 9), (3, 2, 16)])
    (tmp_path / "schema.sql").write_text(
        f"CREATE STREAM s (n INT) PUSHED FROM 'directory://{tmp_path}/in' DELAY 1 SECOND;\n"
        "CREATE QUERY q STARTING AT BEGINNING AS SELECT id, time, n * 1.0 AS y FROM s THEN differences(y);\n"
        "CREATE QUERY bad STARTING AT BEGINNING AS SELECT id, time, n * 1.0 AS y FROM s THEN 'units:Raises'(y);\n"
    )
    (tmp_path / "nilometer.toml").write_text(f'[python]\npath = "{HERE}"\n')
    database = nilometer.connect(tmp_path)
    run(database, tmp_path)
    before = rows_of(database, "q")
    assert before == [(1, 1, 0.0, 0.0)]
    feed(tmp_path, "b", [(5, 1, 1), (7, 2, 20)])
    run(database, tmp_path)  # its state was saved
    assert rows_of(database, "q") == [*before, (2, 2, 0.0, 0.0), (3, 2, 7.0, 7.0), (5, 1, -3.0, 3.0)]
    states = {one.name: one for one in database.queries()}
    assert states["bad"].state is RunState.FAILED
    assert "units:Raises failed" in str(states["bad"].trouble)


def test_contract_tests_of_authors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    import units as own

    check_unit(Differences, 3.0)
    check_unit(Differences, ids="STRING")
    check_unit(own.Named)
    for unit, why in (
        (own.Counts, "batches that are cut otherwise"),
        (own.Forgets, "saved and taken back"),
        (own.Mixes, "sensors depend on each other"),
        (own.OtherColumns, "not declared: z"),
        (own.Backwards, "in the order of the rows"),
    ):
        with pytest.raises(AssertionError, match=why):
            check_unit(unit)
    check_function(
        lambda v, name: [f"{n}{x[0]}" for x, n in zip(v, name, strict=True)], ["INT[2]", "STRING"], "STRING"
    )
    with pytest.raises(AssertionError, match="it gave float64 for INT"):
        check_function(lambda x: x * 0.5, ["INT"], "INT")
    sys.modules.pop("units", None)
