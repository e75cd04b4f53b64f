"""The Fjord host: several queries over pushed streams and pulled tables in one thread, without Spark."""

from nilometer.edge.fjord.fjord import EVERY_START, Fjord
from nilometer.edge.fjord.schedulers import RoundRobin, Scheduler, SelfScheduling, Tickets
from nilometer.edge.ledger import QueryLedger

__all__ = ["EVERY_START", "Fjord", "QueryLedger", "RoundRobin", "Scheduler", "SelfScheduling", "Tickets"]
