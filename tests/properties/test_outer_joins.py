"""Random queries with JOIN ... ON and USING: the optimizer, the plan text and the gateway against the reference."""

from __future__ import annotations

import pytest
from hypothesis import given

from dataflow.pushed import run_pushed
from nilometer.engine.gateway import run_on_gateway
from nilometer.engine.hosts import Host
from nilometer.errors import DataError
from nilometer.language import parse, print_statement
from nilometer.plan.explain import explain_text, parse_physical_plan, parse_plan
from nilometer.plan.reference import same_answer
from properties.random_queries import Case, outer_join_cases
from properties.test_hosts_agree import RELAXED, bound, database_with, judged
from properties.test_hosts_agree import table_file as table_file


@given(case=outer_join_cases())
@RELAXED
def test_the_optimizer_and_the_text_of_plans_change_nothing(table_file: str, case: Case) -> None:
    assert parse(print_statement(parse(case.sql))) == parse(case.sql)
    database = database_with(case, table_file)
    query = bound(database, case)
    for plan in (query.logical, query.optimized.plan):
        assert parse_plan(explain_text(plan), database.catalog) == plan
    assert parse_physical_plan(explain_text(query.physical), database.catalog) == query.physical
    for finished in (True, False):
        try:
            expected = judged(database, query.logical, finished)
        except DataError:
            return  # integer overflow: a rule may avoid computing what is not asked for
        difference = same_answer(expected, judged(database, query.optimized.plan, finished))
        assert difference is None, f"{difference}\n{explain_text(query.optimized.plan)}"


@pytest.mark.parametrize("host", [run_on_gateway, run_pushed])
@given(case=outer_join_cases())
@RELAXED
def test_a_host_agrees_with_the_reference(table_file: str, host: Host, case: Case) -> None:
    database = database_with(case, table_file)
    query = bound(database, case)
    for finished in (True, False):
        try:
            expected = query.run("reference", finished=finished)
        except DataError:
            with pytest.raises(DataError):
                host(query, finished, None)
            return
        for batch_rows in (None, 1, 3):
            found = host(query, finished, batch_rows)
            difference = same_answer(expected.rows, found.rows)
            assert difference is None, f"{difference} (batches of {batch_rows})\n{query.explain('physical')}"
