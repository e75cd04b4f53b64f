"""Which files and hosts a user of HTTP may name in a declaration: those in the data directory, and those that the
person who started the server has allowed.

The command line trusts its user. A user of HTTP is another person, perhaps on another machine: FROM 'file:///etc/...'
would let them read this machine's files, and FROM 'http://10.0.0.1/...' would let them reach hosts that only this
machine can reach. `${NAME}` would send them its secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nilometer.catalog.address import Address, scheme_of
from nilometer.errors import ConfigurationError
from nilometer.language import ast
from nilometer.server.problems import ForbiddenError
from nilometer.workers.settings import python_settings

_PATH = re.compile(r"[\w ./-]+")
_NAME = re.compile(r"\w[\w -]{0,99}")
_OPTIONS = re.compile(r"[\w.=&]*")
_HARMLESS = frozenset(
    "format time limit receive clients interval timeout client_id session keepalive retry table qos".split()
)
"""The options of addresses that name neither files nor hosts."""


@dataclass(frozen=True)
class Confinement:
    """The directories and hosts that may be named."""

    directory: Path
    roots: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()

    def check(self, statement: ast.Statement) -> None:
        """Refuse a statement that names a place outside."""
        match statement:
            case ast.CreateStream(name=name) | ast.CreateTable(name=name) | ast.CreateQuery(name=name):
                check_name(name)
            case ast.CreateView(name=name) | ast.CreateNetwork(name=name) | ast.CreatePhenomenon(name=name):
                check_name(name)
            case ast.CreateAlert(name=name) | ast.CreateDecision(name=name):
                check_name(name)
            case ast.CreateFunction(name=name, reference=reference):
                check_name(name)
                check_module(reference)
        match statement:
            case ast.CreateStream(url=str(url)):
                # A stream's relative path begins where the server was started, a table's in the data directory.
                self._check(url, Path.cwd(), options=True)
            case ast.Replace(created=created):
                self.check(created)
            case ast.CreateAlert():
                self._check_alert(statement)
            case _:
                for place in places_of(statement):
                    self._check(place, self.directory)

    def _check_alert(self, alert: ast.CreateAlert) -> None:
        if alert.address.lower().startswith("mailto:"):
            # Mail goes by the server that the settings name, so no host is named here.
            if "${" in alert.address or "?" in alert.address:
                raise ForbiddenError("an address of mail that is declared by HTTP is a plain one")
        else:
            self._check(alert.address, self.directory)
        template = alert.template
        if template is not None and not template.named and template.text.startswith("file:"):
            self._check_path(template.text.removeprefix("file:"), self.directory, "")

    def _check(self, written: str, base: Path, *, options: bool = False) -> None:
        if "${" in written:
            raise ForbiddenError(
                "an address that is declared by HTTP names no secrets of this machine",
                hint="declare it in schema.sql, or with nilometer execute",
            )
        scheme = scheme_of(written)
        if scheme == "generate":
            return
        if scheme in ("file", "directory", "sqlite"):
            prefix = "sqlite:///" if scheme == "sqlite" else f"{scheme}://"
            rest = written[len(prefix) :] if "://" in written else written
            path, _, said = rest.partition("?") if options else (rest, "", "")
            self._check_path(path, base, said)
            return
        try:
            address = Address.parse(written, {})
        except ConfigurationError:
            raise ForbiddenError("this is no address", hint="write scheme://host:port/path") from None
        host = address.host.lower()
        if not host or host not in {one.lower() for one in self.hosts}:
            raise ForbiddenError(
                f"an address that is declared by HTTP may not name the host '{host or '(none)'}'",
                hint=f"start the server with --allow-host {host or 'HOST'}, or declare it in schema.sql",
            )
        strange = sorted(address.options.keys() - _HARMLESS) if scheme not in ("http", "https") else []
        if strange:
            raise ForbiddenError(
                f"an address that is declared by HTTP may not have the option '{strange[0]}'",
                hint="declare it in schema.sql, or with nilometer execute",
            )

    def _check_path(self, path: str, base: Path, options: str) -> None:
        plain = _PATH.fullmatch(path) is not None and _OPTIONS.fullmatch(options) is not None
        here = self.directory.resolve()
        found = (base / path).resolve() if plain else Path("/")
        inside = found.is_relative_to(here) and not found.is_relative_to(here / ".nilometer")
        if not inside and not any(found.is_relative_to(root.resolve()) for root in self.roots):
            raise ForbiddenError(
                "a path that is declared by HTTP is a plain one in the data directory",
                detail=f"'{path[:200]}' is not",
                hint="start the server with --allow-root DIR, or declare it in schema.sql",
            )


def check_name(name: str) -> str:
    """Refuse a name that would be an odd file: what is declared has files of its name."""
    if _NAME.fullmatch(name) is None:
        raise ForbiddenError(
            f"'{name[:100]}' is no name that can be declared by HTTP", hint="letters, digits, blanks, _ and -"
        )
    return name


def check_module(reference: str) -> None:
    """Refuse code of a module that nilometer.toml does not list: whoever names a module runs it."""
    module = reference.partition(":")[0]
    if not python_settings().allows(module):
        raise ForbiddenError(
            f"a function that is declared by HTTP may not run code of the module '{module[:100]}'",
            hint='list it in nilometer.toml: [python] modules = ["..."], or declare the function in schema.sql',
        )


def places_of(statement: ast.Statement) -> Iterator[str]:
    """The addresses and paths that a statement names, besides those of streams."""
    match statement:
        case ast.CreateTable(url=url):
            yield url
        case ast.CopySensors(path=path) | ast.CopyStreams(path=path):
            yield path
        case ast.CreateNetwork(path=path, schema=schema, resources=resources):
            yield from filter(None, (path, schema, resources))
