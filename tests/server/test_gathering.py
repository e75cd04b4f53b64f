"""Readings of many clients go on together, and nobody waits long for others."""

from __future__ import annotations

import asyncio

import pytest

from nilometer.catalog import Stream
from nilometer.engine import connect
from nilometer.ingest.adapters.push import FullError, Offer, PushAdapter, Pushes
from nilometer.ingest.payloads import Format
from nilometer.server.gathering import Gathering
from server.serving import AIR


def offer() -> Offer:
    return Offer([b"{}"], Format.JSON, "test", 0, 100)


@pytest.fixture
def adapter() -> PushAdapter:
    database = connect()
    database.execute(AIR)
    stream = database.catalog.extent("air")
    assert isinstance(stream, Stream)
    made = Pushes().adapter(stream, lambda: 0)
    made.open()
    return made


def test_those_that_were_under_way_together_go_on_together(adapter: PushAdapter) -> None:
    async def run() -> None:
        gathering = Gathering()
        first, second = offer(), offer()
        gathering.put(adapter, first)
        assert adapter._next() == [first], "who is alone waits for nobody"
        gathering.put(adapter, second)  # while the first is under way
        assert adapter._next() == [second]
        for _ in range(2):
            gathering.over(adapter)
        gathering.put(adapter, first)
        assert adapter._next() == [], "the other one comes again"
        gathering.put(adapter, second)
        assert adapter._next() == [first, second]
        for _ in range(2):
            gathering.over(adapter)
        gathering.put(adapter, first)  # and the other one does not
        while not adapter.wake.is_set():
            await asyncio.sleep(0.001)
        assert adapter._next() == [first]
        gathering.over(adapter)
        gathering.put(adapter, first)
        assert adapter._next() == [first], "it is alone again"

    asyncio.run(run())


def test_a_group_goes_on_although_the_station_is_busy(adapter: PushAdapter) -> None:
    async def run() -> None:
        gathering = Gathering()
        for _ in range(2):
            gathering.put(adapter, offer())
        assert len(adapter._next()) == 2  # they are never answered
        gathering.put(adapter, offer())
        while not adapter.wake.is_set():
            await asyncio.sleep(0.001)
        assert len(adapter._next()) == 1

    asyncio.run(run())


def test_what_a_stream_refuses_is_refused_one_by_one(adapter: PushAdapter) -> None:
    async def run() -> None:
        adapter.close()
        refused = offer()
        Gathering().put(adapter, refused)
        with pytest.raises(FullError, match="being opened or closed"):
            refused.done.result(0)

    asyncio.run(run())
