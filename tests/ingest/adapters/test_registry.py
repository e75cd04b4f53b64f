"""Adapters by the scheme of an address: ours, and those that an installed package brings."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import registry
from nilometer.types import INT, Column


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """A package that brings `serial` (and would bring `mqtt`), and one that cannot be imported."""
    made: list[tuple[object, ...]] = []
    module = ModuleType("my_serial")
    module.Serial = lambda *given: made.append(given)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_serial", module)
    points = [
        EntryPoint("serial", "my_serial:Serial", registry.GROUP),
        EntryPoint("mqtt", "my_serial:Serial", registry.GROUP),
        EntryPoint("broken", "no_such_module:Adapter", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    return made


def stream(url: str) -> Stream:
    return Stream("s", stream_columns((Column("x", INT),)), url=url)


def test_a_package_brings_an_adapter(brought: list[tuple[object, ...]]) -> None:
    asked = stream("serial://localhost/ttyUSB0?baud=9600")
    registry.adapter_for(asked, lambda: 5, identity="me")
    ((given, address, clock, identity),) = brought
    assert given is asked
    assert address.options == {"baud": "9600"}  # type: ignore[attr-defined]
    assert (clock(), identity) == (5, "me")  # type: ignore[operator]


def test_ours_cannot_be_taken_over(brought: list[tuple[object, ...]]) -> None:
    registry.adapter_for(stream("mqtt://localhost/x"), lambda: 0)
    assert brought == []


def test_what_is_wrong_is_said(brought: list[tuple[object, ...]]) -> None:
    with pytest.raises(ConfigurationError, match="cannot be loaded") as caught:
        registry.adapter_for(stream("broken://localhost/x"), lambda: 0)
    assert "no_such_module" in str(caught.value)
    with pytest.raises(ConfigurationError, match="no adapter for 'serail://'") as caught:
        registry.adapter_for(stream("serail://localhost/x"), lambda: 0)
    assert "serial" in str(caught.value)
