"""Random queries with the newer clauses (newer_queries.py): the gateway answers as the reference, whatever the batches."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, note, settings

from dataflow.pushed import run_pushed
from nilometer.engine.gateway import run_on_gateway
from nilometer.engine.hosts import Host
from nilometer.errors import BindError, DataError
from nilometer.language import parse, print_statement
from nilometer.plan.explain import explain_text, parse_physical_plan, parse_plan
from nilometer.plan.reference import same_answer
from properties.newer_queries import newer_cases
from properties.random_queries import Case
from properties.test_hosts_agree import LONG, RELAXED, database_with
from properties.test_hosts_agree import table_file as table_file
from scripts import has_order, same_sequence

BOUND: Counter[bool] = Counter()
"""How many random queries were bound, and how many refused."""


@pytest.mark.parametrize("host", [run_on_gateway, run_pushed])
@given(case=newer_cases())
@settings(RELAXED, max_examples=1000 if LONG else 40)
def test_a_host_agrees_with_the_reference(table_file: str, host: Host, case: Case) -> None:
    note(case.sql)
    assert parse(print_statement(parse(case.sql))) == parse(case.sql)
    database = database_with(case, table_file)
    try:
        query = database.sql(case.sql)
    except BindError:  # the log is empty, so its stream is not at hand; or an aggregate is of the wrong type
        BOUND[False] += 1
        return
    BOUND[True] += 1
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
            found = host(query, finished, batch_rows)
            difference = same_answer(expected.rows, found.rows)
            assert difference is None, f"{difference} (batches of {batch_rows})\n{query.explain('physical')}"
            if has_order(query.logical):
                assert same_sequence(expected.rows, found.rows), f"{expected.rows}\n{found.rows}"


def test_most_random_queries_are_not_refused() -> None:
    """A generator whose queries are refused would test nothing."""
    assert not BOUND or BOUND[True] > 4 * BOUND[False], BOUND
