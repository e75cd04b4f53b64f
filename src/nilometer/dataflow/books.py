"""The books of one occurrence of a stream in a query, kept where the tuple is let in or not.

    read = delivered + filtered + late + shed

`read` are the readings of the stream's log that the query was given, also those that were late or that a full queue shed;
`delivered` those that went on to its operators, `filtered` those that its sensors' names or its condition kept out. What is
garbled, of the future or a double is no reading of the log: the stream's own books have it (dataflow/ledger.py).
"""

from __future__ import annotations

import json

from nilometer.dataflow.ledger import QueryLedger


class Books:
    """Counts that only grow."""

    def __init__(self) -> None:
        self.ledger = QueryLedger()

    def note(self, accepted: int, delivered: int, late: int, shed: int) -> None:
        """What a wave brought."""
        read = accepted + late + shed
        self.ledger += QueryLedger(read, delivered, accepted - delivered, late, shed)

    def snapshot(self) -> dict[str, bytes]:
        """The counts, as a pane."""
        return {"books": json.dumps(self.ledger.as_dict()).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self.ledger = QueryLedger(**json.loads(panes["books"]))
