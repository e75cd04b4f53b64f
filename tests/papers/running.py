"""A printed query as data, and what is asked of every one: it parses, binds, explains, runs, and all hosts agree."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from nilometer.engine import STAGES, Database
from nilometer.engine.hosts import HOSTS
from nilometer.engine.placing import PLACEMENT_STAGES
from nilometer.language import parse, print_statement
from nilometer.plan.reference import same_answer


@dataclass(frozen=True)
class Printed:
    """A query as a paper prints it: where, the text, its parameters; `empty` says why it has no answer."""

    where: str
    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    empty: str | None = None

    def __str__(self) -> str:
        return self.where


def check(printed: Printed, database: Database) -> None:
    """All that must hold of a printed query over generated data."""
    tree = parse(printed.text)
    assert parse(print_statement(tree)) == tree
    query = database.sql(printed.text, **printed.parameters)
    for stage in STAGES:
        # Without a network there is nowhere to place it; the figures of SNEE that have one are in tests/placement.
        if stage not in PLACEMENT_STAGES:
            assert query.explain(stage), f"nothing to explain at stage {stage}"
    expected = query.run("reference")
    if printed.empty:
        assert not expected.rows, f"an answer in spite of: {printed.empty}"
    else:
        assert expected.rows, "the generated data have no answer to this query"
    for host in HOSTS:
        if host == "spark":  # in tests/spark, in one session
            continue
        if host == "gateway" and importlib.util.find_spec("nilometer.engine.gateway") is None:
            pytest.skip("nilometer.engine.gateway is not there yet")
        given = query.run(host)
        assert given.columns == expected.columns
        difference = same_answer(expected.rows, given.rows)
        assert difference is None, f"{host} differs from the reference\n{difference}"
