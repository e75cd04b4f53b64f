"""The reference evaluator: computes a logical plan's answer from the logs, naively and obviously right.

It shares only the plan with the hosts that it judges. It uses the standard library, no operators and no
kernels.
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
