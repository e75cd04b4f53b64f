"""The contract of a sink: open it, see which commit it has, give it the next ones, close it.

A new sink is one small class and a line in registry.py. The law: `write` is all or nothing, as far as `last`
can tell. After a crash at any step, `open` finds in `last` a commit; the rows of this commit and of all
before it are durable in the sink, and no other rows are there. A sink that cannot say what it has
(`keeps_place` False) receives rows again after a crash, with ids by which a receiver recognizes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.log import failpoints
from nilometer.log.failpoints import Failpoint
from nilometer.types import Schema

COMMON = ("every", "rows", "start")
"""The options of every sink: how long commits are gathered, up to how many rows, and whether a new sink
receives all answers that there are, or only those from now on.
"""

GROUP_ROWS = 65_536
"""A sink is given commits of about this many rows at once, unless it asks for another number."""


@dataclass(frozen=True)
class Origin:
    """Where answers come from: the query, and the data directory (of a gateway).

    >>> str(Origin("smoky", "1a2b3c4d"))
    'smoky@1a2b3c4d'
    """

    query: str
    identity: str

    def __str__(self) -> str:
        return f"{self.query.lower()}@{self.identity}"


@dataclass(frozen=True)
class Answered:
    """One commit: rows of one version of a query, in the columns it had. `position` rows came before."""

    number: int
    version: str
    schema: Schema
    rows: pl.DataFrame
    position: int = 0


class Sink:
    """The base class. `last` is the last commit that it has, None for none; `every` is how long commits may
    be gathered, in microseconds.
    """

    keeps_place = True
    """Whether the sink itself knows which commits it has."""

    options: tuple[str, ...] = ()
    every = 0
    group_rows = GROUP_ROWS

    def __init__(self, address: Address, origin: Origin, failpoint: Failpoint | None = None) -> None:
        address.check([*self.options, *COMMON])
        self.address = address
        self.origin = origin
        self.failpoint = failpoint or failpoints.from_environment("sink")
        self.every = address.duration("every", type(self).every)
        self.group_rows = address.count("rows", type(self).group_rows)
        start = address.options.get("start", "beginning")
        if start not in ("beginning", "now"):
            raise ConfigurationError(
                f"start={start} is no place to start", hint="write start=beginning or start=now"
            )
        self.start_now = start == "now"
        self.last: int | None = None

    @property
    def name(self) -> str:
        """The sink's address, for people and for the books, without password and options. The same place has
        the same name.
        """
        port = f":{self.address.port}" if self.address.port else ""
        return f"{self.address.scheme}://{self.address.host}{port}/{self.address.path}"

    def open(self) -> None:
        """Connect, and find `last`. Raises a ResourceError if the sink is unreachable; the caller retries."""
        raise NotImplementedError

    def write(self, commits: Sequence[Answered]) -> None:
        """Deliver the next commits, all of one version. Commits without rows only move `last`."""
        raise NotImplementedError

    def close(self) -> None:
        """Release everything, also if the sink failed or was never opened."""


def rows_in(commits: Sequence[Answered]) -> pl.DataFrame:
    """The rows of commits of one version, concatenated."""
    filled = [commit.rows for commit in commits if commit.rows.height] or [commits[-1].rows]
    return filled[0] if len(filled) == 1 else pl.concat(filled, rechunk=True)


def check_origin(found: object, origin: Origin, place: str) -> None:
    """Refuse a place that holds answers of another query: the commit numbers of another query mean nothing
    here.
    """
    if found != str(origin):
        raise ConfigurationError(
            f"{place} holds answers of {found}, not of {origin}",
            hint="give each query (and each data directory) a place of its own",
        )


@contextmanager
def reached(place: str) -> Iterator[None]:
    """Turn errors of the operating system into ResourceErrors."""
    try:
        yield
    except OSError as error:
        raise ResourceError(f"{place} cannot be written", detail=error.strerror or str(error)) from error
