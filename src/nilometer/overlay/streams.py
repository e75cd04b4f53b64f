"""How far each stream has come, as peers tell one another, and which streams are silent.

A stream's home says its watermark, the greatest time it has shipped, and its latest gap: no reading of it has a time
strictly between `gap_from` and `gap_to`, because its home was away. Whoever hears it passes it on. The law: an entry is
only replaced by a later one of the same home (`beat`, its clock), so that entries may come in any order.

A stream that says nothing for `silent` microseconds is silent: its home, or the way to it, has failed. A home that
beats and has no readings is not silent: no readings are an answer (overlay, section 6).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field

from nilometer.types import INT_MINIMUM


@dataclass(frozen=True)
class Reached:
    """How far a stream has come."""

    beat: int
    watermark: int = INT_MINIMUM
    greatest: int = INT_MINIMUM
    gap_from: int = INT_MINIMUM
    gap_to: int = INT_MINIMUM


@dataclass
class Streams:
    """The streams of the ring, by lower-case name, as one peer has heard of them."""

    silent_after: int
    reached: dict[str, Reached] = field(default_factory=dict)
    _heard: dict[str, int] = field(default_factory=dict)

    def hear(self, now: int, stream: str, said: Reached) -> bool:
        """Take an entry, if it is later than the one that is known."""
        known = self.reached.get(stream)
        if known is not None and said.beat <= known.beat:
            return False
        self.reached[stream] = said
        self._heard[stream] = now
        return True

    def silent(self, now: int, stream: str) -> bool:
        """Whether nothing was heard of a stream for too long."""
        return stream not in self._heard or now - self._heard[stream] > self.silent_after

    def watermarks(self) -> dict[str, int]:
        """The watermark of each stream."""
        return {
            stream: said.watermark for stream, said in self.reached.items() if said.watermark > INT_MINIMUM
        }

    def as_fields(self) -> dict[str, list[int]]:
        """For the wire."""
        return {stream: list(astuple(said)) for stream, said in self.reached.items()}
