"""Splits a stream's URL into its parts. The path may contain `#` and `{name}`, as MQTT topics do.

>>> address = Address.parse("mqtt://me:secret@host:1884/air/{site}/#?format=senml&receive=100")
>>> address.host, address.port, address.path, address.options
('host', 1884, 'air/{site}/#', {'format': 'senml', 'receive': '100'})
>>> address.duration("timeout", 5_000_000), Address.parse("http://h/x?timeout=250ms").duration("timeout", 0)
(5000000, 250000)

`${NAME}` stands for a variable of the environment, and `${file:PATH}` for the first line of a file, such as a mounted
secret. Nilometer looks them up when it opens the address. Until then the text of the address holds no secret, nor do
the catalog, a process list or EXPLAIN. The printed form of an Address never shows a password.

>>> print(Address.parse("postgresql://me:secret@db/air?table=x"))
postgresql://me:***@db/air?table=x
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.redaction import REFERENCE, redacted, without
from nilometer.types import DAY, HOUR, MILLISECOND, MINUTE, SECOND

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)(us|ms|s|m|h|d|)$")
_UNITS = {"us": 1, "ms": MILLISECOND, "s": SECOND, "": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, repr=False)
class Address:
    """A URL in parts; a bare path has the scheme `file`. `url` may hold secrets; `shown` does not."""

    url: str
    scheme: str
    host: str = ""
    port: int | None = None
    user: str | None = None
    password: str | None = None
    path: str = ""
    options: dict[str, str] = field(default_factory=dict)
    shown: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shown", self.shown or redacted(self.url))

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @staticmethod
    def parse(written: str, environment: Mapping[str, str] = os.environ) -> Address:
        """Split a URL into its parts, and look its references up."""
        shown, url = redacted(written), resolved(written, environment)
        scheme, mark, rest = url.partition("://")
        if not mark:
            path, _, query = url.removeprefix("file:").partition("?")
            return Address(url, "file", path=path, options=_options(query), shown=shown)
        scheme = scheme.lower()
        whole = rest
        rest, _, query = rest.partition("?")
        authority, slash, path = rest.partition("/")
        if scheme in ("file", "directory"):
            path = unquote(authority + slash + path)
            return Address(url, scheme, path=path, options=_options(query), shown=shown)
        if ":" in authority and whole.count("@") > ("@" in authority):
            raise ConfigurationError(
                f"'{shown}' is ambiguous: there is an '@' too many",
                hint="in a user, a password or a path write @ as %40, / as %2F and ? as %3F",
            )
        try:
            parts = urlsplit(f"{scheme}://{authority}")
            host, port = parts.hostname or "", parts.port
        except ValueError:  # its text quotes the part, which may be a password
            raise ConfigurationError(
                f"'{shown}' is no address",
                detail="its host or its port is not valid",
                hint="write scheme://user:password@host:port/path, and in the password @ as %40, / as %2F, : as %3A",
            ) from None
        user, password = (
            None if part is None else unquote(part) for part in (parts.username, parts.password)
        )
        return Address(url, scheme, host, port, user, password, unquote(path), _options(query), shown)

    def hide(self, text: str) -> str:
        """A text of another program about this address, without the address's secrets."""
        login = self.url.partition("://")[2].rpartition("@")[0]
        secrets = [self.password or "", login.partition(":")[2], self.url]
        secrets += [value for name, value in self.options.items() if f"{name}={value}" not in self.shown]
        return without(text, tuple(secrets))

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
            raise ConfigurationError(
                f"{name}={text} in '{self.shown}'", hint=f"a number of at least {least:g}"
            )
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
            raise ConfigurationError(f"{name}={text} in '{self.shown}'", hint="write 500ms, 5s, 1m or 2h")
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
            raise ConfigurationError(f"{name}={text} in '{self.shown}'", hint=f"one of {words}") from None


def scheme_of(url: str) -> str:
    """The scheme, without looking any reference up; `file` for a bare path.

    >>> scheme_of("mqtt://me:${SECRET}@host/air"), scheme_of("air.csv")
    ('mqtt', 'file')
    """
    scheme, mark, _ = url.partition("://")
    return scheme.lower() if mark else "file"


def resolved(written: str, environment: Mapping[str, str] = os.environ) -> str:
    """The URL with the values of its references, percent-encoded: a password may have any character.

    >>> resolved("mqtt://me:${AIR}@host/air", {"AIR": "p@ss/word"})
    'mqtt://me:p%40ss%2Fword@host/air'
    """
    if "${" not in written:
        return written
    url = REFERENCE.sub(lambda match: quote(_value(match[0][2:-1], environment), safe=""), written)
    if "${" in url:
        raise ConfigurationError(
            f"'{redacted(written)}' has a reference that is neither a variable nor a file",
            hint="write ${NAME}, or ${file:/run/secrets/name}",
        )
    return url


def _value(name: str, environment: Mapping[str, str]) -> str:
    if not name.startswith("file:"):
        if name not in environment:
            raise ConfigurationError(
                f"an address names ${{{name}}}, and the environment has no such variable",
                hint=f"set it: export {name}=...",
            )
        return environment[name]
    path = Path(name.removeprefix("file:")).expanduser()
    try:
        return (path.read_text(encoding="utf-8").splitlines() or [""])[0]
    except UnicodeDecodeError:
        detail = "it is not text"
    except OSError as error:
        detail = error.strerror or str(error)
    raise ConfigurationError(
        f"an address names the file '{path}', which cannot be read",
        detail=detail,
        hint="its first line is the secret; this process needs the right to read it",
    )


def _options(query: str) -> dict[str, str]:
    return dict(parse_qsl(query, keep_blank_values=True))
