"""A standing query's answers, kept durably.

    result_log.py    the answers; each commit names the offsets of the readings it was made from
    answer_types.py  what a log's dtypes do not tell of them

The law: the result log says what was answered. What is not in it was not answered.
"""

from nilometer.log.results.answer_types import schema_of, types_of
from nilometer.log.results.result_log import Commit, ResultLog

__all__ = ["Commit", "ResultLog", "schema_of", "types_of"]
