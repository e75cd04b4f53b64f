"""Chooses a stream's adapter by the scheme of its URL.

A new adapter is a class and a line here. The law: an adapter that uses a network is imported only when a URL
asks for it.
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
    "tls": _tcp,
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

    `identity` distinguishes data directories, for servers that keep a session for each client.
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
