"""Splits a stream's URL into its parts. The path may contain `#` and `{name}`, as MQTT topics do.

>>> address = Address.parse("mqtt://me:secret@host:1884/air/{site}/#?format=senml&receive=100")
>>> address.host, address.port, address.path, address.options
('host', 1884, 'air/{site}/#', {'format': 'senml', 'receive': '100'})
>>> address.duration("timeout", 5_000_000), Address.parse("http://h/x?timeout=250ms").duration("timeout", 0)
(5000000, 250000)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.types import DAY, HOUR, MILLISECOND, MINUTE, SECOND

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)(us|ms|s|m|h|d|)$")
_UNITS = {"us": 1, "ms": MILLISECOND, "s": SECOND, "": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True)
class Address:
    """A URL in parts; a bare path has the scheme `file`."""

    url: str
    scheme: str
    host: str = ""
    port: int | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    path: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def parse(url: str) -> Address:
        """Split a URL into its parts."""
        scheme, mark, rest = url.partition("://")
        if not mark:
            path, _, query = url.partition("?")
            return Address(url, "file", path=path, options=dict(parse_qsl(query, keep_blank_values=True)))
        rest, _, query = rest.partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        authority, slash, path = rest.partition("/")
        if scheme in ("file", "directory"):
            return Address(url, scheme, path=unquote(authority + slash + path), options=options)
        try:
            parts = urlsplit(f"{scheme}://{authority}")
            port = parts.port
        except ValueError as error:
            raise ConfigurationError(f"'{url}' is no address", detail=str(error)) from None
        user, password = (
            None if part is None else unquote(part) for part in (parts.username, parts.password)
        )
        return Address(
            url, scheme.lower(), parts.hostname or "", port, user, password, unquote(path), options
        )

    def check(self, known: Iterable[str]) -> None:
        """Raise a ConfigurationError for an unknown option."""
        names = list(known)
        for name in self.options:
            if name not in names:
                raise ConfigurationError(
                    f"'{self.scheme}' has no option '{name}'",
                    hint=near_misses(name, names) or f"there are: {', '.join(names)}",
                )

    def number(self, name: str, default: float, least: float = 0.0) -> float:
        """A numeric option."""
        text = self.options.get(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value < float("inf"):
            raise ConfigurationError(f"{name}={text} in '{self.url}'", hint=f"a number of at least {least:g}")
        return value

    def count(self, name: str, default: int, least: int = 1) -> int:
        """An option that counts something."""
        return int(self.number(name, default, least))

    def duration(self, name: str, default: int) -> int:
        """A duration in microseconds: `500ms`, `5s`, `1m`, `2h`, or seconds."""
        text = self.options.get(name)
        if text is None:
            return default
        match = _DURATION.match(text)
        if match is None:
            raise ConfigurationError(f"{name}={text} in '{self.url}'", hint="write 500ms, 5s, 1m or 2h")
        return round(float(match[1]) * _UNITS[match[2]])

    def word(self, name: str, default: Word) -> Word:
        """An option that is one of a few words."""
        text = self.options.get(name)
        if text is None:
            return default
        try:
            return type(default)(text)
        except ValueError:
            words = ", ".join(type(default))
            raise ConfigurationError(f"{name}={text} in '{self.url}'", hint=f"one of {words}") from None
