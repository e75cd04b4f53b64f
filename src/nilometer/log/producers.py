"""Remembers which (producer, sequence) pairs the log holds, so that a repeated append is acknowledged but not
written twice.

For each producer it keeps the greatest sequence, and which of the 64 sequences up to it were seen (the
anti-replay window of IPsec, RFC 4303 section 3.4.3). So sequences may come a little out of order, and may
have gaps. The law: a sequence counts as seen if it was marked; a sequence more than 63 below the greatest
always counts as seen.

>>> seen = Producers()
>>> seen.mark("mote-7", 12)
>>> seen.mark("mote-7", 10)
>>> [seen.seen("mote-7", sequence) for sequence in (10, 11, 12, 13)]
[True, False, True, False]
"""

from __future__ import annotations

import json

from nilometer.errors import DataError

WINDOW = 64
_ALL = (1 << WINDOW) - 1


class Producers:
    """The producers of one stream."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._windows)

    def seen(self, producer: str, sequence: int) -> bool:
        """Whether the sequence counts as seen."""
        window = self._windows.get(producer)
        if window is None or sequence > window[0]:
            return False
        back = window[0] - sequence
        return back >= WINDOW or bool(window[1] >> back & 1)

    def mark(self, producer: str, sequence: int) -> None:
        """Note that the sequence is in the log now."""
        greatest, bits = self._windows.get(producer, (sequence, 0))
        if sequence > greatest:
            # A leap may be of any length, and a shift by it would make a number of as many bits.
            leap = sequence - greatest
            bits = bits << leap & _ALL if leap < WINDOW else 0
            greatest = sequence
        back = greatest - sequence
        if back < WINDOW:
            bits |= 1 << back
        self._windows[producer] = (greatest, bits)

    def last(self) -> dict[str, int]:
        """The greatest sequence of each producer."""
        return {producer: greatest for producer, (greatest, _) in self._windows.items()}

    def to_bytes(self) -> bytes:
        """The body of a PRODUCERS record."""
        return json.dumps(self._windows, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Producers:
        """The inverse of `to_bytes`. Refuses what no writer of ours has written."""
        producers = Producers()
        try:
            producers._windows = {name: (last, bits) for name, (last, bits) in json.loads(data).items()}
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise DataError("the producers of a log cannot be read") from None
        return producers
