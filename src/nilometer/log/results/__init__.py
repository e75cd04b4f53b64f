"""The durable answers of a standing query.

    result_log.py    the answers of one query; each commit names the offsets of the readings it was made from
    shared_log.py    the commit log: the answers of all queries on the gateway, one record a round
    shared_results.py  reads one query's answers from the commit log
    answer_types.py  the types that a log's dtypes do not tell

The law: the result log defines what was answered. A row that is not in it was not answered.
"""

from nilometer.log.results.answer_types import schema_of, types_of
from nilometer.log.results.result_log import Commit, ResultLog

__all__ = ["Commit", "ResultLog", "schema_of", "types_of"]
