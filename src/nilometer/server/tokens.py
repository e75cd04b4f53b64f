"""The tokens of a data directory: who may read, write or administer it by HTTP. `.nilometer/tokens.json`, 0600.

A token is 256 random bits, so a plain hash of it is enough: nobody can guess its way back. It is shown once, when it
is created. A token that is revoked is refused from the next request on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from nilometer.errors import ConfigurationError, DataError
from nilometer.live import audit
from nilometer.log.private import make_directory
from nilometer.types import format_time

FILE = Path(".nilometer") / "tokens.json"
PREFIX = "nilo_"
_NAME = re.compile(r"[\w.@-]{1,64}")


class Role(StrEnum):
    """The rights of a token. WRITE may also read, ADMIN may do everything."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def allows(self, wanted: Role) -> bool:
        """
        >>> Role.WRITE.allows(Role.READ), Role.READ.allows(Role.WRITE)
        (True, False)
        """
        return _ORDER[self] >= _ORDER[wanted]


_ORDER = {role: place for place, role in enumerate(Role)}


@dataclass(frozen=True)
class Token:
    """A token without the secret."""

    name: str
    role: Role
    digest: str
    created: str
    requests: float | None = None
    """How many requests a second; None: as many as the server takes."""
    rows: float | None = None
    """How many rows of readings a second."""


class Tokens:
    """The tokens of a directory, read again whenever the file changes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / FILE
        self._seen: tuple[int, int] | None = None
        self._tokens: dict[str, Token] = {}

    def all(self) -> list[Token]:
        """The tokens, by name."""
        self._look()
        return sorted(self._tokens.values(), key=lambda token: token.name)

    def find(self, secret: str) -> Token | None:
        """The token of that secret."""
        self._look()
        # The digest of a random secret is looked up: the time it takes tells nothing about other digests.
        return self._tokens.get(_digest(secret))

    def create(self, name: str, role: Role, requests: float | None = None, rows: float | None = None) -> str:
        """A new token, which may do so much a second. Returns the secret, which is not kept."""
        if _NAME.fullmatch(name) is None:
            raise ConfigurationError(
                f"'{name}' is no name of a token", hint="letters, digits, and . @ _ -, at most 64 of them"
            )
        if any(token.name == name for token in self.all()):
            raise ConfigurationError(
                f"there is a token '{name}' already", hint=f"revoke it first: nilometer token revoke {name}"
            )
        secret = PREFIX + secrets.token_urlsafe(32)
        created = format_time(time.time_ns() // 1_000_000_000 * 1_000_000)
        self._keep([*self.all(), Token(name, role, _digest(secret), created, requests, rows)])
        limits = f", {requests or 'any'} requests and {rows or 'any'} rows a second"
        audit.note(self._directory, None, "create token", f"{name}, {role}{limits}")
        return secret

    def revoke(self, name: str) -> None:
        """Forget a token."""
        left = [token for token in self.all() if token.name != name]
        if len(left) == len(self.all()):
            known = ", ".join(token.name for token in self.all()) or "none"
            raise ConfigurationError(f"there is no token '{name}'", hint=f"there are: {known}")
        self._keep(left)
        audit.note(self._directory, None, "revoke token", name)

    def _look(self) -> None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._tokens, self._seen = {}, None
            return
        if (found.st_mtime_ns, found.st_ino) == self._seen:
            return
        try:
            records = json.loads(self._path.read_bytes())
            self._tokens = {
                one["digest"]: Token(
                    *(one["name"], Role(one["role"]), one["digest"], one["created"]),
                    *(one.get("requests"), one.get("rows")),
                )
                for one in records
            }
        except (ValueError, KeyError, TypeError):
            raise DataError(
                f"'{self._path}' is damaged", hint="delete it, and create the tokens again"
            ) from None
        self._seen = found.st_mtime_ns, found.st_ino

    def _keep(self, tokens: list[Token]) -> None:
        make_directory(self._path.parent)
        aside = self._path.with_name("tokens.json.aside")
        aside.touch(mode=0o600)
        with open(aside, "w", encoding="utf-8") as file:
            json.dump([asdict(token) for token in tokens], file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, self._path)
        self._seen = None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
