"""Random queries with OVER: text, plans and hosts agree with the reference evaluator."""

from __future__ import annotations

import pytest
from hypothesis import given

from dataflow.pushed import run_pushed
from nilometer.engine.gateway import run_on_gateway
from nilometer.engine.hosts import Host
from nilometer.language import parse, print_statement
from properties import test_hosts_agree as hosts
from properties.analytic_queries import analytic_cases
from properties.random_queries import Case
from properties.test_hosts_agree import table_file as table_file

same_plans = hosts.test_the_optimizer_never_changes_an_answer.hypothesis.inner_test
same_text = hosts.test_plan_text_parses_back.hypothesis.inner_test
same_host = hosts.test_a_host_agrees_with_the_reference.hypothesis.inner_test


@given(case=analytic_cases())
@hosts.RELAXED
def test_a_query_prints_and_parses_back(case: Case) -> None:
    tree = parse(case.sql)
    assert parse(print_statement(tree)) == tree


@given(case=analytic_cases())
@hosts.RELAXED
def test_the_optimizer_never_changes_an_answer(table_file: str, case: Case) -> None:
    same_plans(table_file, case)


@given(case=analytic_cases())
@hosts.RELAXED
def test_plan_text_parses_back(table_file: str, case: Case) -> None:
    same_text(table_file, case)


@pytest.mark.parametrize("host", [run_on_gateway, run_pushed])
@given(case=analytic_cases())
@hosts.RELAXED
def test_a_host_agrees_with_the_reference(table_file: str, host: Host, case: Case) -> None:
    same_host(table_file, host, case)
