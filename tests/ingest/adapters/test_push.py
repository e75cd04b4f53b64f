"""Pushed readings: acknowledged once durable, refused when shed, bounded, and given back when their stream closes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from nilometer.catalog import Stream, stream_columns
from nilometer.errors import ResourceError
from nilometer.ingest.adapters.inbox import Room
from nilometer.ingest.adapters.push import FullError, Offer, Place, PushAdapter, Pushes, Receipt, size_of
from nilometer.ingest.manager import StreamManager
from nilometer.ingest.payloads import Decoded, Format
from nilometer.log import LogDirectory
from nilometer.types import FLOAT, Column

AIR = Stream("air", stream_columns((Column("x", FLOAT),)), key=("id", "time"))


def offer(*payloads: bytes, form: Format = Format.AUTO) -> Offer:
    return Offer(payloads, form, "test", 1_000_000, size_of(payloads))


def opened(pushes: Pushes) -> PushAdapter:
    adapter = pushes.adapter(AIR, lambda: 1_000_000)
    adapter.open()
    return adapter


def test_an_offer_is_done_once_its_readings_are_durable(tmp_path: Path) -> None:
    pushes = Pushes(Room())
    manager = StreamManager(LogDirectory(tmp_path), lambda: 1_000_000, pushes.adapter)
    manager.attend("pushes", [AIR])
    adapter = pushes.find("AIR")
    assert adapter is not None
    sound, garbled = offer(b'{"time": 1, "id": 1, "x": 2}'), offer(b'{"time": 2, "id": 1, "x": "y"}')
    adapter.put(sound)
    adapter.put(garbled)
    assert not sound.done.done()
    manager.poll()
    assert sound.done.result(0) == Receipt(1)
    assert garbled.done.result(0).garbled == 1
    assert LogDirectory(tmp_path).log("air").tail(5).height == 1
    manager.close()
    assert pushes.find("air") is None


def test_each_offer_has_its_own_receipt() -> None:
    adapter = opened(Pushes(Room()))
    offers = [
        offer(b'{"id": 1, "x": 1}', b'{"id": 2, "x": "y"}'),
        offer(b"air,id=3 x=4 1000", form=Format.INFLUX),
        offer(b'[{"id": 4, "x": 1}, {"id": 5, "x": 2}]'),
        offer(b'{"id": 6, "x": 7}'),
    ]
    for each in offers:
        adapter.put(each)
    result = adapter.read()
    assert (result.rows.height, result.garbled_count) == (5, 1)
    adapter.acknowledge(result.handle)
    found = [(each.done.result(0).received, each.done.result(0).garbled) for each in offers]
    assert found == [(2, 1), (1, 0), (2, 0), (1, 0)]
    assert sorted(result.rows.get_column("id").to_list()) == [1, 3, 4, 5, 6]


def test_offers_that_are_decoded_learn_where_they_are(tmp_path: Path) -> None:
    pushes = Pushes(Room())
    manager = StreamManager(LogDirectory(tmp_path), lambda: 1_000_000, pushes.adapter)
    manager.attend("pushes", [AIR])
    adapter = pushes.find("air")
    assert adapter is not None

    def brought(*ids: int) -> Offer:
        rows = pl.DataFrame(
            {"time": ids, "id": ids, "x": [1.0] * len(ids)},
            schema=dict(adapter.nothing().rows.schema) | {"x": pl.Float64},
        )
        return Offer([], Format.JSON, "test", 1_000_000, 1, Decoded(rows))

    first, small, second = brought(1, 2), offer(b'{"time": 9, "id": 9, "x": 2}'), brought(3)
    for each in (first, small, second):
        adapter.put(each)
    manager.poll()
    assert (first.place, second.place, small.place) == (Place(0, exact=True), Place(2, exact=True), None)
    double, other = brought(2), brought(4)
    adapter.put(double)
    adapter.put(other)
    manager.poll()
    assert double.place == other.place == Place(4, exact=False), (
        "a double was refused: nobody knows which row is where"
    )
    manager.close()


def test_equal_garbage_of_two_offers_is_in_both_receipts() -> None:
    adapter = opened(Pushes(Room()))
    offers = [offer(b"x", b'{"id": 1, "x": 1}'), offer(b"x"), offer(b'{"id": 2, "x": 1}')]
    for each in offers:
        adapter.put(each)
    adapter.acknowledge(adapter.read().handle)
    assert [each.done.result(0).garbled for each in offers] == [1, 1, 0]


def test_what_is_shed_is_not_acknowledged() -> None:
    adapter = opened(Pushes(Room()))
    waiting = offer(b'{"id": 1, "x": 1}')
    adapter.put(waiting)
    adapter.gave_up(adapter.read().handle)
    with pytest.raises(FullError, match="were shed"):
        waiting.done.result(0)


def test_what_waits_is_bounded_and_can_be_withdrawn() -> None:
    room = Room()
    pushes = Pushes(room, lambda: 1_000)
    adapter = opened(pushes)
    large = Offer([b"x" * 5_000], Format.AUTO, "", 0, 5_300)
    adapter.put(large)  # an empty room takes an offer of any size
    with pytest.raises(FullError, match="5300 bytes of readings wait"):
        adapter.put(offer(b"1"))
    assert adapter.withdraw(large)
    assert not adapter.withdraw(large)
    assert room.used == 0
    adapter.put(offer(b"1"))
    adapter.read()
    assert room.used == 0


def test_a_stream_that_closes_gives_its_offers_back() -> None:
    pushes = Pushes(Room())
    adapter = opened(pushes)
    read, waiting = offer(b'{"id": 1, "x": 1}'), offer(b'{"id": 2, "x": 1}')
    adapter.put(read)
    adapter.read()
    adapter.put(waiting)
    adapter.close()
    for each in (read, waiting):
        with pytest.raises(ResourceError, match="closed before"):
            each.done.result(0)
    with pytest.raises(FullError, match="being opened or closed"):
        adapter.put(offer(b"1"))
