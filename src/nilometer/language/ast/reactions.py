"""Statements that react to answers: alerts and decisions. Each makes a standing query of its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer.language.ast.node import Node
from nilometer.language.ast.statements import Statement

if TYPE_CHECKING:
    from nilometer.language.ast.expressions import Expression
    from nilometer.language.ast.queries import QueryNode
    from nilometer.language.ast.windows import Amount


@dataclass(frozen=True, slots=True)
class Silence(Node):
    """`SILENCE 10 MINUTES` after a notification, or `SILENCE FROM '22:00' TO '06:00'`."""

    lasting: Amount | None = None
    begin: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Template(Node):
    """`TEMPLATE slack` (named), or `TEMPLATE 'text'`, in which `{column}` stands for a value."""

    text: str
    named: bool = False


@dataclass(frozen=True, slots=True)
class CreateAlert(Statement):
    """`CREATE ALERT name WHEN (query) THEN 'address' [DEBOUNCE d] [GROUP BY columns] [RESOLVE AFTER d] [REPEAT EVERY d]
    [SILENCE ...] [RETRIES n] [TEMPLATE ...]`."""

    name: str
    query: QueryNode
    address: str
    debounce: Amount | None = None
    groups: tuple[str, ...] = ()
    resolve: Amount | None = None
    repeat: Amount | None = None
    silence: Silence | None = None
    retries: int | None = None
    template: Template | None = None


@dataclass(frozen=True, slots=True)
class DecisionChoice(Node):
    """`'open the box' WHEN kind = 'hazard'`; without a condition `'pass' OTHERWISE`."""

    action: str
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class CreateDecision(Statement):
    """`CREATE DECISION name ON source CHOOSE ('action' WHEN condition, ..., 'action' OTHERWISE)`. The source is a name, or
    a query in parentheses."""

    name: str
    source: str | QueryNode
    choices: tuple[DecisionChoice, ...]
