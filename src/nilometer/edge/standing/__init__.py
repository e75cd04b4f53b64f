"""A standing query's answers and state, durably: killed at any moment, it goes on with nothing lost and nothing doubled.

    result_log.py    the answers, each commit with the offsets it was made from
    answer_types.py  what a log's dtypes do not tell of them
    checkpoints.py   the operators' state, now and then
    recovery.py      both -> where a query goes on

The law: the result log says what was answered; a checkpoint only saves reading the stream logs again from further back.
"""

from nilometer.edge.standing.answer_types import schema_of, types_of
from nilometer.edge.standing.checkpoints import Checkpoint, Checkpoints
from nilometer.edge.standing.recovery import Recovered, recover
from nilometer.edge.standing.result_log import Commit, ResultLog

__all__ = [
    "Checkpoint",
    "Checkpoints",
    "Commit",
    "Recovered",
    "ResultLog",
    "recover",
    "schema_of",
    "types_of",
]
