"""The streams of other gateways, as the owner of a data directory has heard of them (live/peers): a client of it can
name them, too."""

from __future__ import annotations

import json
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.catalog import Stream
from nilometer.catalog.peer_streams import remote
from nilometer.engine.declare import stream_of
from nilometer.engine.opening import FILE
from nilometer.errors import NilometerError
from nilometer.language import ast, parse

if TYPE_CHECKING:
    from nilometer.engine.database import Database


def read_stream(text: str) -> Stream:
    """The stream of a CREATE STREAM."""
    statement = parse(text)
    assert isinstance(statement, ast.CreateStream)
    return stream_of(statement, text)


def declare_remote_streams(database: Database, directory: Path, *, but: Container[str] = ()) -> None:
    """Declare them, where no stream of our own has their name, or is to have it (`but`, in lower case)."""
    try:
        known = json.loads((directory / FILE).read_text(encoding="utf-8"))["streams"]
        for text, home in known:
            stream = read_stream(text)
            if stream.name.lower() not in but and database.catalog.extent(stream.name) is None:
                database.catalog.add_stream(remote(stream, home))
    except (FileNotFoundError, ValueError, KeyError, TypeError, NilometerError):
        return  # the owner tells them again
