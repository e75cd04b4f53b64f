"""Lets the streams of standing queries' answers hold all answers so far, so that a query that begins now begins after
them.
"""

from __future__ import annotations

from collections.abc import Mapping

from nilometer.catalog import Stream
from nilometer.catalog.answer_streams import is_answers
from nilometer.errors import ResourceError
from nilometer.ingest.manager import StreamManager
from nilometer.ingest.manager.states import SourceState
from nilometer.live.stream_adapters import StreamAdapters

READER = "catching up"
"""The reader that keeps the sources open meanwhile; no query has a name with a blank."""


def catch_up(manager: StreamManager, adapters: StreamAdapters, streams: Mapping[str, Stream]) -> bool:
    """Read all answers into those of the streams that are made of answers. Returns whether there are such streams."""
    behind = {key: stream for key, stream in streams.items() if is_answers(stream)}
    if not behind:
        return False
    manager.attend(READER, behind.values())
    try:
        # Only these: a source that always has readings would never let this end.
        while manager.poll(behind) or not all(_has_caught_up(manager, adapters, key) for key in behind):
            pass
    finally:
        manager.unregister(READER)
    return True


def _has_caught_up(manager: StreamManager, adapters: StreamAdapters, key: str) -> bool:
    """Whether the stream holds all answers of its query. Raises ResourceError if it cannot get there now."""
    state, why = manager.state(key)
    if state in (SourceState.CLOSED, SourceState.ENDED, SourceState.FOLLOWING):
        return True  # nothing more comes from this process
    if state is SourceState.OPEN and getattr(adapters.of(key), "caught_up", True):
        return True
    if state is SourceState.OPEN and why is None:
        return False
    raise ResourceError(
        f"the answers of '{key}' cannot be read now: {why or state.value}",
        hint=f"look at the query '{key}', then ask again",
    )
