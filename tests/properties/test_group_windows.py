"""Random queries over TUMBLE, HOP, CUMULATE, SESSION, FILL, row windows per key and whole streams: the gateway answers as the reference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflow.pushed import run_pushed
from nilometer.engine.gateway import run_on_gateway
from nilometer.engine.hosts import Host
from nilometer.errors import BindError, DataError
from nilometer.language import parse, print_statement
from nilometer.plan.explain import explain_text, parse_physical_plan, parse_plan
from nilometer.plan.reference import same_answer
from properties.random_queries import STREAMS, Case, aggregate, readings, where
from properties.test_hosts_agree import LONG, RELAXED, database_with
from properties.test_hosts_agree import table_file as table_file

seconds = st.integers(1, 6)


@st.composite
def source(draw: Any, alias: str) -> tuple[str, str]:
    """A source of FROM, and the columns of its windows; none if it has none."""
    name = draw(st.sampled_from(STREAMS))
    offset = draw(st.sampled_from(("", ", OFFSET 1 SECOND", ", OFFSET 2500 MILLISECONDS")))
    zone = draw(st.sampled_from(("UTC", "Europe/Zurich", "Asia/Kolkata")))
    columns = ", ".join(f"{alias}.{name}" for name in ("window_start", "window_end"))
    match draw(st.integers(0, 7)):
        case 0:
            return f"TUMBLE({name}, {draw(seconds)} SECONDS{offset}) {alias}", columns
        case 1:
            return f"HOP({name}, {draw(seconds)} SECONDS, {draw(seconds)} SECONDS{offset}) {alias}", columns
        case 2:
            return f"SESSION({name}, {draw(seconds)} SECONDS) {alias}", columns
        case 3:
            return f"SESSION({name}, name, {draw(seconds)} SECONDS) {alias}", columns
        case 4:
            return f"TUMBLE({name}, 1 DAY, TIMEZONE '{zone}') {alias}", columns
        case 5:
            step = draw(seconds)
            return f"CUMULATE({name}, {step} SECONDS, {step * draw(seconds)} SECONDS) {alias}", columns
        case 6:
            return (
                f"{name} [RANGE {draw(seconds)} ROWS SLIDE {draw(st.integers(1, 3))} ROWS PER id] {alias}",
                "",
            )
        case _:
            return f"{name} {alias}", ""


@st.composite
def group_window_cases(draw: Any) -> Case:
    """A random query and random logs."""
    text, columns = draw(source("a"))
    keys = ", ".join(filter(None, (columns, draw(st.sampled_from(("", "a.id", "a.name"))))))
    aggregates = ", ".join(
        f"{draw(aggregate(['a']))} AS c{number}" for number in range(draw(st.integers(1, 2)))
    )
    grouped = f" GROUP BY {keys}" if keys else ""
    listed = f"{keys}, {aggregates}" if keys else aggregates
    fills = (
        ("", " FILL(NULL)", " FILL(PREVIOUS)", " FILL(LINEAR)")
        if text.startswith(("TUMBLE", "HOP", "CUMULATE"))
        else ("",)
    )
    sql = f"SELECT {listed} FROM {text}{draw(where(['a']))}{grouped}{draw(st.sampled_from(fills))}"
    if columns and not draw(st.integers(0, 3)):
        sql = f"SELECT a.id, a.x, {columns} FROM {text}{draw(where(['a']))}"
    return Case(sql, {name: draw(readings()) for name in STREAMS})


@pytest.mark.parametrize("host", [run_on_gateway, run_pushed])
@given(case=group_window_cases())
@settings(RELAXED, max_examples=1000 if LONG else 40)
def test_a_host_agrees_with_the_reference(table_file: str, host: Host, case: Case) -> None:
    assert parse(print_statement(parse(case.sql))) == parse(case.sql)
    database = database_with(case, table_file)
    try:
        query = database.sql(case.sql)
    except BindError:  # the log is empty, so its stream is not at hand; or an aggregate is of the wrong type
        return
    for plan in (query.logical, query.optimized.plan):
        assert parse_plan(explain_text(plan), database.catalog) == plan
    assert parse_physical_plan(explain_text(query.physical), database.catalog) == query.physical
    for finished in (True, False):
        try:
            expected = query.run("reference", finished=finished)
        except DataError:
            with pytest.raises(DataError):
                host(query, finished, None)
            return
        for batch_rows in (None, 1):
            difference = same_answer(expected.rows, host(query, finished, batch_rows).rows)
            assert difference is None, f"{difference} (batches of {batch_rows})\n{query.explain('physical')}"
