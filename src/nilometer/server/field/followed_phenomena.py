"""The phenomena that somebody asks for, each with the state that its last answer left (engine/followed.py)."""

from __future__ import annotations

import threading
from collections import OrderedDict

from nilometer.engine.followed import Asked, FollowedQuery, can_follow, signature
from nilometer.engine.query import Query

MOST = 16
"""Definitions whose state is kept; the one that nobody has asked for longest makes room."""


class FollowedPhenomena:
    """For use by the threads of requests; they take turns."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], FollowedQuery] = OrderedDict()
        self._turn = threading.Lock()

    def look(self, query: Query) -> Asked:
        """The rows of a query over a phenomenon, by now."""
        if not can_follow(query):
            from nilometer.engine.field import all_data

            return all_data(query)
        with self._turn:
            key = signature(query)
            followed = self._known.pop(key, None) or FollowedQuery(query.physical, "time")
            found = followed.ask(query.database)  # if it fails, its state is forgotten
            self._known[key] = followed
            while len(self._known) > MOST:
                self._known.popitem(last=False)
            return found
