"""Binds a query (AST + catalog) to its logical plan: resolves names, checks types, turns subqueries into
joins.

Every error is a `BindError` that points at the place in the text, says what stands there, and hints at the
fix.
"""

from nilometer.plan.bind.queries import bind
from nilometer.plan.bind.scope import Bound
from nilometer.plan.bind.whole import is_whole

__all__ = ["Bound", "bind", "is_whole"]
