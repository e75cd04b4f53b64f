"""Finds the silences of a stream's sensors: `(time, id, state, last_time)`.

A sensor is silent once it has sent nothing for the duration d: at last_time + d, unless it has a tuple with a
time up to and including that moment. It returns with its next tuple. A declared sensor that never sent is
silent d after the stream's first tick. An event is known when W has passed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Row, order_key

Event = tuple[int, str, int | None]
"""The time, the state and the time of the last tuple before it."""


def silent(node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int) -> list[Row]:
    """The events of all sensors, sensor by sensor. A tuple without an id belongs to no sensor."""
    heard = {row.id for row in rows if row.id is not None}
    declared, duration = node.call.sensors, node.call["FOR"]
    assert isinstance(duration, int)
    result = []
    for sensor in sorted(heard | declared, key=order_key):
        times = sorted({row.time for row in rows if row.id == sensor})
        begin = first_tick if sensor in declared else None
        for time, state, last in _events(times, duration, begin):
            if time < watermark:
                values = dict(zip(node.schema.names, (time, sensor, state, last), strict=True))
                result.append(Row(time, time, sensor, None, values))
    return result


def _events(times: Sequence[int], duration: int, begin: int | None) -> Iterator[Event]:
    """The events of one sensor that sent at `times`; a declared sensor's first tuple is due from `begin`
    on."""
    if begin is not None and (not times or times[0] > begin + duration):
        yield begin + duration, "silent", None
        if times:
            yield times[0], "returned", None
    for index, time in enumerate(times):
        following = times[index + 1] if index + 1 < len(times) else None
        if following is None or following > time + duration:
            yield time + duration, "silent", time
            if following is not None:
                yield following, "returned", time
