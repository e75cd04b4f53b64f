"""The Fjord host: several queries over pushed streams and pulled tables in one thread, without Spark."""

from nilometer.dataflow.fjord.fjord import ANSWER_ROWS, EVERY_START, Fjord
from nilometer.dataflow.fjord.schedulers import RoundRobin, Scheduler, SelfScheduling, Tickets
from nilometer.dataflow.ledger import QueryLedger

__all__ = [
    "ANSWER_ROWS",
    "EVERY_START",
    "Fjord",
    "QueryLedger",
    "RoundRobin",
    "Scheduler",
    "SelfScheduling",
    "Tickets",
]
