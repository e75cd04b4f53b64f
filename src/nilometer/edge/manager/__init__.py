"""Sources -> the durable logs of their streams -> the queries that registered for them (steam.txt sections 3 to 5).

seen_keys.py       which keys the log holds        entrance.py        what comes in, and the books
"""

from nilometer.edge.manager.entrance import Entrance

__all__ = ["Entrance"]
