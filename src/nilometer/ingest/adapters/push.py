"""Readings that programs push into a stream, such as by HTTP: any thread offers them, and the source reads them.

    offer ─► [waiting, bounded] ─► PushAdapter.read ─► entrance, log, fsync ─► acknowledge ─► the offer's future

Small offers are decoded together, in the reader's turn: a thousand readings that come one by one cost one decoding
and one fsync. A large offer is decoded by the thread that brings it.

The laws: an offer's future has a result only once its readings are durable, as rows or as dead letters. What waits is
bounded by the bytes that the process has for the messages of all its inboxes; beyond that an offer is refused, and
nothing of it is kept. An offer can be withdrawn until it is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.errors import ResourceError
from nilometer.ingest.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.ingest.adapters.inbox import ITEM_BYTES, ROOM, Room
from nilometer.ingest.adapters.wake import Wake
from nilometer.ingest.payloads import Decoded, Decoder, FieldCounts, Format, Garbled, Messages
from nilometer.memory import budget

SMALL = 64 << 10
"""An offer of more bytes than this is decoded by the thread that brings it."""
TURN_BYTES = 4 << 20
"""The reader takes at most this many bytes in one turn, and at least one offer."""


REASONS = 20
"""How many different reasons a receipt gives."""


class FullError(ResourceError):
    """As many readings wait as may wait: try again in a moment."""


@dataclass(frozen=True)
class Receipt:
    """What became of an offer: how many readings it had, how many of them were garbled, and the first reasons."""

    received: int
    garbled: int = 0
    reasons: tuple[str, ...] = ()


class Done(Protocol):
    """Takes a receipt or an error, once. A Future does, and so does the slip of somebody who waits in an event loop."""

    def done(self) -> bool:
        """Whether it has one."""
        ...

    def set_result(self, result: Receipt) -> None:
        """Take a receipt."""
        ...

    def set_exception(self, exception: BaseException) -> None:
        """Take an error."""
        ...

    def result(self, _timeout: float | None = None, /) -> Receipt:
        """The receipt; raises the error."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of an offer are in the log: one after the other from `position` on, if it is `exact`; otherwise
    some of those that came with them were refused, and they are somewhere from there on, or nowhere."""

    position: int
    exact: bool


@dataclass(eq=False)
class Offer:
    """Payloads of one format, or what they were decoded to. `done` has the receipt once all of it is durable; then
    `place` says where it is."""

    payloads: Sequence[bytes]
    format: Format
    source: str
    arrived: int
    size: int
    decoded: Decoded | None = None
    place: Place | None = None
    done: Done = field(default_factory=Future[Receipt])


class PushAdapter(Adapter):
    """The source of a stream that is declared without an address. It never ends."""

    def __init__(self, stream: Stream, clock: Clock, pushes: Pushes) -> None:
        super().__init__(stream, clock)
        self.wake: Wake = Wake()
        self._pushes = pushes
        self._decoder = Decoder(stream)
        self._turn = threading.Lock()
        self._waiting: list[Offer] = []
        self._unacknowledged: set[Offer] = set()
        self._closed = True

    # ---- for those who push ------------------------------------------------------------------------------------------

    def decode(self, offer: Offer) -> Decoded:
        """Decode an offer by itself, with a decoder of its own: threads share none."""
        return Decoder(self.stream).decode(_messages([offer]), offer.format)

    def put(self, offer: Offer) -> None:
        """Let an offer wait to be read. Raises a FullError if too much waits already."""
        with self._turn:
            self._admit(offer)
        self.wake.set()

    def put_all(self, offers: Sequence[Offer]) -> list[tuple[Offer, FullError]]:
        """Let several offers wait, to be read together. Returns those that are refused."""
        refused: list[tuple[Offer, FullError]] = []
        with self._turn:
            for offer in offers:
                try:
                    self._admit(offer)
                except FullError as error:
                    refused.append((offer, error))
        if len(refused) < len(offers):
            self.wake.set()
        return refused

    def _admit(self, offer: Offer) -> None:
        if self._closed:
            raise FullError(f"the stream '{self.stream.name}' is being opened or closed", hint="try again")
        self._pushes.take_room(offer.size)
        self._waiting.append(offer)

    def withdraw(self, offer: Offer) -> bool:
        """Take an offer back. Returns False if it was read already: it may become durable."""
        with self._turn:
            if offer not in self._waiting:
                return False
            self._waiting.remove(offer)
            self._pushes.give_room(offer.size)
            return True

    # ---- for the station's loop --------------------------------------------------------------------------------------

    def open(self) -> None:
        self._closed = False
        self._pushes.opened(self)

    def read(self) -> ReadResult:
        offers = self._next()
        if not offers:
            return self.nothing()
        small = [offer for offer in offers if offer.decoded is None]
        parts = [offer.decoded for offer in offers if offer.decoded is not None]
        handle = [(offer, _receipt(offer.decoded)) for offer in offers if offer.decoded is not None]
        brought = [(offer, offer.decoded.rows.height) for offer in offers if offer.decoded is not None]
        for form in dict.fromkeys(offer.format for offer in small):
            decoded, receipts = self._together([offer for offer in small if offer.format is form], form)
            parts.append(decoded)
            handle += receipts
        rows = parts[0].rows if len(parts) == 1 else pl.concat([decoded.rows for decoded in parts])
        return ReadResult(
            Status.NEW_VALUE,
            rows,
            tuple(letter for decoded in parts for letter in decoded.garbled),
            arrived=max(offer.arrived for offer in offers),
            handle=tuple(handle),
            fields=sum((decoded.fields for decoded in parts), FieldCounts()),
            placed=partial(_place, brought, rows.height) if brought else None,
        )

    def _next(self) -> list[Offer]:
        with self._turn:
            count = left = 0
            for offer in self._waiting:
                left += offer.size
                if count and left > TURN_BYTES:
                    break
                count += 1
            offers, self._waiting = self._waiting[:count], self._waiting[count:]
            self._unacknowledged.update(offers)
            if not self._waiting:
                self.wake.clear()
        for offer in offers:
            self._pushes.give_room(offer.size)
        return offers

    def _together(self, offers: list[Offer], form: Format) -> tuple[Decoded, list[tuple[Offer, Receipt]]]:
        """Decode many offers at once, and say which rows and letters are whose. The rows stay in one frame."""
        decoded = self._decoder.decode(_messages(offers), form)
        if len(offers) == 1:
            return decoded, [(offers[0], _receipt(decoded))]
        assert decoded.messages is not None, "a decoder that does not say whose the rows are"
        ends = np.cumsum([len(offer.payloads) for offer in offers])
        at = np.searchsorted(decoded.messages.to_numpy(), ends, side="left")
        rows = np.diff(at, prepend=0).tolist()
        letters: dict[int, list[Garbled]] = {}
        for letter in decoded.garbled:
            assert letter.message is not None, "a letter of which nobody knows the sender"
            letters.setdefault(int(np.searchsorted(ends, letter.message, side="right")), []).append(letter)
        return decoded, [
            (offer, _counted(rows[place], letters.get(place, ()))) for place, offer in enumerate(offers)
        ]

    def acknowledge(self, handle: object) -> None:
        assert isinstance(handle, tuple)
        for offer, receipt in handle:
            self._unacknowledged.discard(offer)
            if not offer.done.done():
                offer.done.set_result(receipt)

    def gave_up(self, handle: object) -> None:
        assert isinstance(handle, tuple)
        for offer, _ in handle:
            self._unacknowledged.discard(offer)
            if not offer.done.done():
                told = f"the readings were shed: the log of '{self.stream.name}' takes no more now"
                offer.done.set_exception(FullError(told, hint="send them again in a moment"))

    def close(self) -> None:
        with self._turn:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            read, self._unacknowledged = self._unacknowledged, set()
        self._pushes.closed(self)
        for offer in waiting:
            self._pushes.give_room(offer.size)
        for offer in (*waiting, *read):
            if not offer.done.done():
                told = f"the stream '{self.stream.name}' was closed before the readings were durable"
                offer.done.set_exception(ResourceError(told, hint="send them again"))


class Pushes:
    """The streams that readings can be pushed into, by lower-case name; for use by all threads."""

    def __init__(self, room: Room = ROOM, most: Callable[[], int] = lambda: budget().inbox) -> None:
        self._open: dict[str, PushAdapter] = {}
        self._room = room
        self._most = most

    def adapter(self, stream: Stream, clock: Clock) -> PushAdapter:
        """A source for the stream, to be opened by the stream manager."""
        return PushAdapter(stream, clock, self)

    def find(self, stream: str) -> PushAdapter | None:
        """The open source of a stream."""
        return self._open.get(stream.lower())

    def opened(self, adapter: PushAdapter) -> None:
        """A source has opened."""
        self._open[adapter.stream.name.lower()] = adapter

    def closed(self, adapter: PushAdapter) -> None:
        """A source has closed."""
        if self._open.get(adapter.stream.name.lower()) is adapter:
            del self._open[adapter.stream.name.lower()]

    def take_room(self, size: int) -> None:
        """Count the bytes of an offer, if there is room for them. An empty room takes an offer of any size."""
        if self._room.used and self._room.used + size > self._most():
            raise FullError(
                f"{self._room.used} bytes of readings wait to be written",
                hint="the disk or the queries are slower than the senders: send again in a moment",
            )
        self._room.add(size)

    def give_room(self, size: int) -> None:
        """Forget the bytes of an offer that was read."""
        self._room.add(-size)


def _place(brought: Sequence[tuple[Offer, int]], rows: int, position: int, taken: int) -> None:
    """Tell the offers that were decoded by those who brought them, and stand first among the rows, where they are."""
    for offer, count in brought:
        offer.place = Place(position, taken == rows)
        if taken == rows:
            position += count


def size_of(payloads: Sequence[bytes]) -> int:
    """The bytes that an offer takes while it waits."""
    return sum(map(len, payloads)) + ITEM_BYTES * len(payloads)


def _receipt(decoded: Decoded) -> Receipt:
    return _counted(decoded.rows.height, decoded.garbled)


def _counted(rows: int, garbled: Sequence[Garbled]) -> Receipt:
    count = sum(letter.count for letter in garbled)
    return Receipt(rows + count, count, tuple(dict.fromkeys(letter.reason for letter in garbled))[:REASONS])


def _messages(offers: Sequence[Offer]) -> Messages:
    return Messages(
        [payload for offer in offers for payload in offer.payloads],
        [offer.arrived for offer in offers for _ in offer.payloads],
        [offer.source for offer in offers for _ in offer.payloads],
    )
