"""Chooses a stream's adapter by the scheme of its URL.

A new adapter is a class and a line here. An installed package brings one without a line here: it names a scheme in
the entry point group `nilometer.adapters` (STEAM section 3.3 lets the user supply InitStream, ReadStream and
CloseStream), such as

    [project.entry-points."nilometer.adapters"]
    serial = "my_package.serial:SerialAdapter"

The law: an adapter that uses a network is imported only when a URL asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.adapter import Adapter, Clock
from nilometer.ingest.adapters.generate import Generators, generate_adapter


def _mqtt(stream: Stream, address: Address, clock: Clock, identity: str | None) -> Adapter:
    from nilometer.ingest.adapters.mqtt import MqttAdapter

    return MqttAdapter(stream, address, clock, identity)


def _kafka(stream: Stream, address: Address, clock: Clock, identity: str | None) -> Adapter:
    from nilometer.ingest.adapters.kafka import KafkaAdapter

    return KafkaAdapter(stream, address, clock, identity)


def _http(stream: Stream, address: Address, clock: Clock, _: str | None) -> Adapter:
    from nilometer.ingest.adapters.http_poll import HttpPollAdapter

    return HttpPollAdapter(stream, address, clock)


def _tcp(stream: Stream, address: Address, clock: Clock, _: str | None) -> Adapter:
    from nilometer.ingest.adapters.tcp_lines import TcpLinesAdapter

    return TcpLinesAdapter(stream, address, clock)


def _file(stream: Stream, address: Address, clock: Clock, _: str | None) -> Adapter:
    from nilometer.ingest.adapters.replay import ReplayAdapter

    return ReplayAdapter(stream, address, clock)


Maker = Callable[[Stream, Address, Clock, str | None], Adapter]
"""Makes an adapter of a stream, its address, the clock, and the identity of the data directory."""

GROUP = "nilometer.adapters"

SCHEMES: dict[str, Maker] = {
    "mqtt": _mqtt,
    "mqtts": _mqtt,
    "kafka": _kafka,
    "kafkas": _kafka,
    "http": _http,
    "https": _http,
    "tcp": _tcp,
    "tls": _tcp,
    "file": _file,
    "directory": _file,
}


def installed() -> dict[str, EntryPoint]:
    """The schemes that installed packages bring. Those of ours come first: no package can take `mqtt` over."""
    return {found.name: found for found in entry_points(group=GROUP) if found.name not in SCHEMES}


def _maker(scheme: str) -> Maker:
    if scheme in SCHEMES:
        return SCHEMES[scheme]
    brought = installed()
    if scheme not in brought:
        raise ConfigurationError(
            f"no adapter for '{scheme}://'",
            hint=near_misses(scheme, [*SCHEMES, *brought, "generate"])
            or f"an installed package brings one by the entry point group {GROUP}",
        )
    try:
        maker: Maker = brought[scheme].load()
    except Exception as error:  # whatever a stranger's module does when it is imported
        raise ConfigurationError(
            f"the adapter for '{scheme}://' cannot be loaded",
            detail=f"{brought[scheme].value}: {type(error).__name__}: {error}",
        ) from error
    return maker


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
    return _maker(address.scheme)(stream, address, clock, identity)
