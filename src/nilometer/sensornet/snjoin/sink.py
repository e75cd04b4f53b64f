"""The sink: it collects the join's answers and makes a feedback note for each batch (SNJoin section 6).

Rows of a batch end their sequences at different heads. The note is made when all of them have arrived. A note
about only the rows that ended at one head would claim that every row probes that head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.sensornet.radio_network import Events
from nilometer.sensornet.snjoin.matches import Answers, Matches, concatenated_matches, ordered_answers
from nilometer.sensornet.snjoin.messages import Result
from nilometer.sensornet.snjoin.readings import Readings, concatenated
from nilometer.sensornet.snjoin.relevance import EveryHead, Note, Strategy, buckets_of, noted


class Sink:
    """The results so far. `head_places` has, for each epoch, the index of each stream's head; `send_note` sends a note
    to a head of an epoch."""

    def __init__(
        self,
        strategy: Strategy,
        head_places: Sequence[Integers],
        events: Events,
        send_note: Callable[[int, int, Note], None],
        within: float = 0.0,
    ) -> None:
        self._strategy = strategy
        self._head_places = head_places
        self._events = events
        self._send_note = send_note
        self._within = within
        self._batches: dict[tuple[int, int, int], list[Result]] = {}
        self._rows: list[Readings] = []
        self._matches: list[Matches] = []
        self._delays: list[Integers] = []
        self._count = 0

    def receive(self, result: Result) -> None:
        """Take finished rows of a batch."""
        place = np.full(result.batch_rows, -1, dtype=np.int64)
        place[result.number] = np.arange(self._count, self._count + len(result.rows))
        self._rows.append(result.rows)
        found = result.matches
        self._matches.append(Matches(place[found.probe], found.stream, found.time, found.sequence))
        self._delays.append(self._events.now - result.rows.time)
        self._count += len(result.rows)
        if not isinstance(self._strategy, EveryHead):
            batch = result.epoch, result.origin, result.batch
            parts = self._batches.setdefault(batch, [])
            parts.append(result)
            if sum(len(part.rows) for part in parts) == result.batch_rows:
                del self._batches[batch]
                self._send_note(result.epoch, result.origin, self._note(parts, self._strategy.buckets))

    def answers(self) -> tuple[Answers, Integers]:
        """The answers so far, and for each of their tuples the time from its timestamp until the sink had its
        result."""
        rows, matches = concatenated(self._rows), concatenated_matches(self._matches)
        answers = ordered_answers(rows, matches)
        delays = np.concatenate(self._delays) if self._delays else np.empty(0, dtype=np.int64)
        joined = np.unique(matches.probe)
        order = np.lexsort((rows.sequence[joined], rows.stream[joined]))
        return answers, delays[joined[order]]

    def _note(self, parts: list[Result], buckets: int) -> Note:
        asked: Booleans = np.concatenate([part.asked for part in parts])
        place = np.full(parts[0].batch_rows, -1, dtype=np.int64)
        place[np.concatenate([part.number for part in parts])] = np.arange(len(asked))
        contributed = np.zeros(asked.shape, dtype=np.bool_)
        for part in parts:
            probe, stream = part.matches.pairs()
            contributed[place[probe], self._head_places[part.epoch][stream]] = True
        values = np.concatenate([part.rows.value for part in parts])
        return noted(buckets_of(values, buckets, self._within), asked, contributed)
