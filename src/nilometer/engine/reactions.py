"""Alerts and decisions -> the standing queries that they are, and the lists of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nilometer.engine.definition import query_definition
from nilometer.language import ast, print_statement
from nilometer.language.lower_reactions import lowered

if TYPE_CHECKING:
    from nilometer.catalog import QueryDefinition
    from nilometer.engine.database import Database


def reaction_of(
    database: Database, statement: ast.CreateAlert | ast.CreateDecision, text: str
) -> QueryDefinition:
    """The standing query of an alert or a decision; refuses one that makes no sense."""
    definition = query_definition(database, lowered(statement), text, {})
    if isinstance(statement, ast.CreateAlert):
        from nilometer.live.alerts.settings import alert_of

        alert_of(statement, definition.columns, text)
    return replace(definition, made_by=print_statement(statement))


def show_alerts(database: Database) -> list[dict[str, Any]]:
    """SHOW ALERTS: each with its state, as far as it is on the disk."""
    from nilometer.live.alerts.listing import alert_list

    return [alert.summary() for alert in alert_list(database)]


def show_decisions(database: Database) -> list[dict[str, Any]]:
    """SHOW DECISIONS: their statements."""
    return [
        {"name": query.name, "text": query.made_by, "audit": f"{query.name}_audit"}
        for query in database.catalog.reactions("DECISION")
    ]
