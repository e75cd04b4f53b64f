"""A stream's URL -> its adapter, by the scheme.

A new adapter is a class and a line here. The law: what speaks to a network is imported when a URL asks for it, not before.
"""

from __future__ import annotations

from collections.abc import Callable

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.adapter import Adapter, Clock
from nilometer.ingest.adapters.generate import Generators, generate_adapter


def _mqtt(stream: Stream, address: Address, clock: Clock, identity: str | None) -> Adapter:
    from nilometer.ingest.adapters.mqtt import MqttAdapter

    return MqttAdapter(stream, address, clock, identity)


def _http(stream: Stream, address: Address, clock: Clock, _: str | None) -> Adapter:
    from nilometer.ingest.adapters.http_poll import HttpPollAdapter

    return HttpPollAdapter(stream, address, clock)


def _tcp(stream: Stream, address: Address, clock: Clock, _: str | None) -> Adapter:
    from nilometer.ingest.adapters.tcp_lines import TcpLinesAdapter

    return TcpLinesAdapter(stream, address, clock)


def _file(stream: Stream, address: Address, clock: Clock, _: str | None) -> Adapter:
    from nilometer.ingest.adapters.replay import ReplayAdapter

    return ReplayAdapter(stream, address, clock)


SCHEMES: dict[str, Callable[[Stream, Address, Clock, str | None], Adapter]] = {
    "mqtt": _mqtt,
    "mqtts": _mqtt,
    "http": _http,
    "https": _http,
    "tcp": _tcp,
    "file": _file,
    "directory": _file,
}


def adapter_for(
    stream: Stream,
    clock: Clock,
    *,
    url: str | None = None,
    generators: Generators | None = None,
    identity: str | None = None,
) -> Adapter:
    """The adapter of a stream, not yet opened; `url` overrides the stream's own.

    `identity` tells data directories apart where a server keeps a session for each of its clients.
    """
    url = url or stream.url
    if url is None:
        raise ConfigurationError(
            f"the stream '{stream.name}' has no address", hint="declare it with FROM 'mqtt://...'"
        )
    address = Address.parse(url)
    if address.scheme == "generate":
        return generate_adapter(stream, address, clock, generators or {})
    if address.scheme not in SCHEMES:
        raise ConfigurationError(
            f"no adapter for '{address.scheme}://'", hint=near_misses(address.scheme, [*SCHEMES, "generate"])
        )
    return SCHEMES[address.scheme](stream, address, clock, identity)
