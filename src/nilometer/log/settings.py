"""The settings of a log: when it is made durable, and how long its segments are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nilometer.errors import ConfigurationError
from nilometer.types import DAY, MILLISECOND


class Fsync(StrEnum):
    """When an append survives a power cut. It survives the death of the process in all three modes.

    ALWAYS: before `append` returns. INTERVAL: after `flush`, which an append itself calls once the interval
    has passed. NEVER: whenever the operating system writes it; rotation still makes durable what it seals.
    """

    ALWAYS = "always"
    INTERVAL = "interval"
    NEVER = "never"


@dataclass(frozen=True)
class LogSettings:
    """Durations are microseconds.

    A segment is sealed at `segment_bytes`, or when its rows span `segment_span` and it is at least
    `least_bytes` long (so that retention by age has whole segments to drop, and a replay of years does not
    make a segment of every batch). Appends of fewer than `gather_rows` rows are held in memory until there
    are that many, or until `flush` is called. Until then, these rows do not survive the death of the process,
    and readers do not see them.
    """

    fsync: Fsync = Fsync.INTERVAL
    fsync_interval: int = 200 * MILLISECOND
    segment_bytes: int = 64 << 20
    segment_span: int = DAY
    least_bytes: int = 1 << 20
    gather_rows: int = 0

    def __post_init__(self) -> None:
        try:
            # A setting may also be text: 'always' is Fsync.ALWAYS.
            object.__setattr__(self, "fsync", Fsync(self.fsync))
        except ValueError:
            raise ConfigurationError(
                f"fsync is always, interval or never, not '{self.fsync}'",
                hint="interval loses at most the last moments in a power cut",
            ) from None
        if self.segment_bytes < 1 or self.segment_span < 1 or self.gather_rows < 0 or self.fsync_interval < 0:
            raise ConfigurationError("the sizes and durations of a log's settings are positive")
