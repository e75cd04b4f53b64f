"""Finds the sink of a URL by its scheme. Modules that use a network are imported only when a URL needs them."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl

from nilometer.catalog.address import Address
from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.log.failpoints import Failpoint
from nilometer.redaction import redacted
from nilometer.sinks.sink import Origin, Sink

FORMS = "parquet:DIR, delta:DIR, jsonl:FILE, mqtt://host/topic, kafka://host/topic, postgresql://host/database?table=x"


def _parquet() -> type[Sink]:
    from nilometer.sinks.parquet import ParquetSink

    return ParquetSink


def _delta() -> type[Sink]:
    from nilometer.sinks.delta import DeltaSink

    return DeltaSink


def _json_lines() -> type[Sink]:
    from nilometer.sinks.json_lines import JsonLinesSink

    return JsonLinesSink


def _mqtt() -> type[Sink]:
    from nilometer.sinks.mqtt import MqttSink

    return MqttSink


def _kafka() -> type[Sink]:
    from nilometer.sinks.kafka import KafkaSink

    return KafkaSink


def _postgresql() -> type[Sink]:
    from nilometer.sinks.postgresql import PostgresqlSink

    return PostgresqlSink


SCHEMES: dict[str, Callable[[], type[Sink]]] = {
    "parquet": _parquet,
    "delta": _delta,
    "jsonl": _json_lines,
    "mqtt": _mqtt,
    "mqtts": _mqtt,
    "kafka": _kafka,
    "kafkas": _kafka,
    "postgresql": _postgresql,
    "postgres": _postgresql,
}
FILES = ("parquet", "delta", "jsonl")


def sink_for(url: str, origin: Origin, failpoint: Failpoint | None = None) -> Sink:
    """The sink of a URL, not yet opened; a ConfigurationError if the URL cannot be a sink."""
    address = address_of(url)
    return SCHEMES[address.scheme]()(address, origin, failpoint)


def address_of(url: str) -> Address:
    """The parts of a sink's URL.

    >>> address_of("parquet:out/smoky?every=1m").path, address_of("mqtt://host/alerts").path
    ('out/smoky', 'alerts')
    """
    scheme, colon, rest = url.partition(":")
    scheme = scheme.lower().partition("+")[0]
    if not colon or scheme not in SCHEMES:
        raise ConfigurationError(
            f"'{redacted(url)}' is not a sink for answers",
            hint=near_misses(scheme, list(SCHEMES)) or f"write {FORMS}",
        )
    if scheme in FILES:
        path, _, query = rest.partition("?")
        if not path:
            raise ConfigurationError(f"'{redacted(url)}' names no file", hint=f"write {FORMS}")
        return Address(url, scheme, path=path, options=dict(parse_qsl(query, keep_blank_values=True)))
    if not rest.startswith("//"):
        raise ConfigurationError(f"'{redacted(url)}' names no host", hint=f"write {FORMS}")
    return Address.parse(f"{scheme}:{rest}")
