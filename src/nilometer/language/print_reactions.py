"""Prints CREATE ALERT and CREATE DECISION as canonical text."""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.print_expressions import amount, identifier, print_expression, string
from nilometer.language.print_queries import print_query


def print_alert(node: ast.CreateAlert) -> str:
    """The statement on one line, its clauses in the order of the documents."""
    clauses = (
        f"CREATE ALERT {identifier(node.name)} WHEN ({print_query(node.query)}) THEN {string(node.address)}",
        "" if node.debounce is None else f"DEBOUNCE {amount(node.debounce)}",
        f"GROUP BY {', '.join(map(identifier, node.groups))}" if node.groups else "",
        "" if node.resolve is None else f"RESOLVE AFTER {amount(node.resolve)}",
        "" if node.repeat is None else f"REPEAT EVERY {amount(node.repeat)}",
        "" if node.silence is None else _silence(node.silence),
        "" if node.retries is None else f"RETRIES {node.retries}",
        "" if node.template is None else _template(node.template),
    )
    return " ".join(filter(None, clauses))


def _silence(node: ast.Silence) -> str:
    if node.lasting is not None:
        return f"SILENCE {amount(node.lasting)}"
    return f"SILENCE FROM {string(node.begin or '')} TO {string(node.end or '')}"


def _template(node: ast.Template) -> str:
    return f"TEMPLATE {node.text if node.named else string(node.text)}"


def print_decision(node: ast.CreateDecision) -> str:
    """The statement on one line."""
    source = identifier(node.source) if isinstance(node.source, str) else f"({print_query(node.source)})"
    choices = ", ".join(
        f"{string(one.action)} "
        + ("OTHERWISE" if one.condition is None else f"WHEN {print_expression(one.condition)}")
        for one in node.choices
    )
    return f"CREATE DECISION {identifier(node.name)} ON {source} CHOOSE ({choices})"
