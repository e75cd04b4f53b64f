"""CREATE QUERY -> the standing query in the catalog; a query that does not bind is refused when it is declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nilometer.catalog import QueryDefinition
from nilometer.engine.examples import installed
from nilometer.engine.models import check_lengths
from nilometer.engine.query import Query
from nilometer.errors import ConfigurationError
from nilometer.language import ast, print_statement
from nilometer.plan import logical

if TYPE_CHECKING:
    from nilometer.engine.database import Database


def query_definition(
    database: Database, statement: ast.CreateQuery, text: str, parameters: Mapping[str, Any]
) -> QueryDefinition:
    """A standing query as it is declared."""
    name, examples = statement.name, installed(database, statement.name, statement.query, text)
    query = examples.tree
    found = Query(database, text, query, parameters).standing()
    check_lengths(database, query, found.logical)
    streams = [node.stream for node in logical.walk_plan(found.logical) if isinstance(node, logical.Acquire)]
    if any(stream.name.lower() == name.lower() for stream in streams):
        raise ConfigurationError(f"'{name}' cannot read itself", hint="give one of them another name")
    examples.keep(database, name)
    delay = max((stream.delay for stream in streams), default=0)
    columns = tuple(found.schema.columns)
    return QueryDefinition(
        name,
        print_statement(query),
        statement.starting,
        columns,
        delay,
        statement.stops,
        pipeline=statement.pipeline,
    )
