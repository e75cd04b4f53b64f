"""AST + catalog -> bound logical plan: names resolved, types checked, subqueries turned into joins.

Every error is a `BindError` that points at the place, says what is there, and hints at the fix.
"""

from nilometer.plan.bind.queries import bind
from nilometer.plan.bind.scope import Bound

__all__ = ["Bound", "bind"]
