"""The books of one occurrence of a stream in a query.

    read = delivered + filtered + late + shed + failed

`read` counts the readings of the stream's log that the query was given, including those that were late or
that a full queue shed. `delivered` counts those that went on to the query's operators, `filtered` those that
its list of sensors or its condition kept out, `failed` those for which an expression has no value. Garbled
readings, readings from the future and duplicates are not in the log: the stream's own books count them
(dataflow/ledger.py).
"""

from __future__ import annotations

import json

from nilometer.dataflow.ledger import QueryLedger


class Books:
    """Counters that only grow."""

    def __init__(self) -> None:
        self.ledger = QueryLedger()

    def note(self, accepted: int, delivered: int, late: int, shed: int, failed: int = 0) -> None:
        """Count the readings of a round."""
        read = accepted + late + shed
        self.ledger += QueryLedger(read, delivered, accepted - delivered - failed, late, shed, failed)

    def snapshot(self) -> dict[str, bytes]:
        """The counts, as a pane."""
        return {"books": json.dumps(self.ledger.as_dict()).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self.ledger = QueryLedger(**json.loads(panes["books"]))
