"""The reference evaluator: a logical plan and the logs to its answer, naive and obviously right.

It shares nothing with the hosts it judges but the plan itself: no operators, no kernels, the standard library only.
"""

from nilometer.plan.reference.answer import Answer, Occurrence
from nilometer.plan.reference.comparison import normalise, rows_in_common, same_answer
from nilometer.plan.reference.evaluate import evaluate
from nilometer.plan.reference.feed import Feed
from nilometer.plan.reference.table_version import TableVersion

__all__ = [
    "evaluate",
    "Feed",
    "TableVersion",
    "Answer",
    "Occurrence",
    "normalise",
    "rows_in_common",
    "same_answer",
]
