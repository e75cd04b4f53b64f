"""Ids of the entities that come from streams. They are texts, made of names that do not change:

    Sensors('air')                      a stream
    ObservedProperties('air:pm25')      a column of it
    Things('air:a1')                    a sensor of it; its Location and FeatureOfInterest have the same id
    Datastreams('air:pm25:a1')          a column of a sensor
    Observations('air:pm25:4711')       a column of the row at a position of the log

A sensor's id stands last and as it is, so it may contain ':'. Names of streams and columns are percent-encoded.
Entities that clients make have numbers.

>>> join("air", "pm25", "aa:bb"), split("air:pm25:aa:bb", 3)
('air:pm25:aa:bb', ('air', 'pm25', 'aa:bb'))
>>> literal("it's"), literal(5)
("'it''s'", '5')
"""

from __future__ import annotations

from urllib.parse import quote, unquote

Id = int | str


def join(*parts: str | int) -> str:
    """An id of these parts; the last one may be anything."""
    *names, last = map(str, parts)
    return ":".join([*(quote(name, safe="") for name in names), last])


def split(identity: Id, count: int) -> tuple[str, ...] | None:
    """The parts of an id; None if it has fewer, or is a number."""
    if not isinstance(identity, str):
        return None
    *names, last = identity.split(":", count - 1)
    if len(names) != count - 1:
        return None
    return (*(unquote(name) for name in names), last)


def literal(identity: Id) -> str:
    """An id as it stands in a path or an expression."""
    return str(identity) if isinstance(identity, int) else "'" + identity.replace("'", "''") + "'"
