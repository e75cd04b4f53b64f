"""A topic pattern of a URL: it gives the filter to subscribe to, and columns from the topics of messages.

`+` and `{name}` stand for one level, `#` for all that follow. A `{name}` becomes the column of that name and
overrules the payload. The first `+` becomes `id`, unless there is an `{id}`; later ones become `topic1`,
`topic2`, ... by their level. These columns fill in where the payload has no value. The whole topic becomes
`topic`, which overrules the payload too. All of this applies only to columns that the stream declares.

>>> pattern = TopicPattern.parse("air/{site}/+/#")
>>> pattern.filter, pattern.levels
('air/+/+/#', ((1, 'site', True), (2, 'id', False)))
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from nilometer.errors import ConfigurationError

_NAMED = re.compile(r"^\{(\w+)\}$")


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """`filter` is the MQTT topic filter. `levels` are (place in the topic, column, whether it overrules the
    payload)."""

    filter: str
    levels: tuple[tuple[int, str, bool], ...] = ()

    @staticmethod
    def parse(pattern: str) -> TopicPattern:
        """Read a pattern; raises a ConfigurationError if MQTT would refuse it."""
        parts = pattern.split("/")
        shared = 2 if parts[0] == "$share" else 0
        if not pattern or (shared and len(parts) < 3):
            raise ConfigurationError(
                "a topic is missing", detail=f"'{pattern}'", hint="write mqtt://host:1883/air/{id}"
            )
        named = [match[1] for match in map(_NAMED.match, parts) if match]
        levels: list[tuple[int, str, bool]] = []
        for place, part in enumerate(parts[shared:]):
            match = _NAMED.match(part)
            if match:
                levels.append((place, match[1], True))
            elif part == "+":
                anonymous = "id" not in named and not any(name == "id" for _, name, _ in levels)
                levels.append((place, "id" if anonymous else f"topic{place}", False))
            elif part == "#" and place + shared == len(parts) - 1:
                continue
            elif set(part) & set("+#{}"):
                raise ConfigurationError(
                    f"'{part}' cannot be a level of the topic '{pattern}'",
                    hint="write +, {name} or plain text between two slashes, and # only at the end",
                )
        if len({name for _, name, _ in levels}) < len(levels):
            raise ConfigurationError(f"a name stands twice in the topic '{pattern}'")
        return TopicPattern("/".join("+" if _NAMED.match(part) else part for part in parts), tuple(levels))

    @property
    def plain(self) -> str:
        """The filter without `$share/group/`, as it matches topics."""
        parts = self.filter.split("/")
        return "/".join(parts[2:]) if parts[0] == "$share" else self.filter

    @property
    def overruling(self) -> frozenset[str]:
        """The columns that overrule the payload."""
        return frozenset(name for _, name, wins in self.levels if wins) | {"topic"}

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that come from a topic."""
        return (*(name for _, name, _ in self.levels), "topic")

    def matches(self, topics: pl.Series) -> pl.Series:
        """Whether each topic is one that the filter subscribes to (MQTT 5, section 4.7)."""
        parts = self.plain.split("/")
        deep = parts[-1] == "#"
        levels = ["[^/]*" if part == "+" else pl.escape_regex(part) for part in parts[: -1 if deep else None]]
        # `air/#` matches `air` too. A wildcard in the first level does not match `$SYS`.
        below = "(?:/.*)?" if deep and levels else ".*" if deep else ""
        found = topics.str.contains(f"(?s)^{'/'.join(levels)}{below}$")
        return found & ~topics.str.starts_with("$") if parts[0] in ("+", "#") else found

    def columns(self, topics: pl.Series) -> dict[str, pl.Series]:
        """The columns of these topics, as text."""
        parts = topics.str.split("/")
        columns = {
            name: parts.list.get(place, null_on_oob=True).alias(name) for place, name, _ in self.levels
        }
        return columns | {"topic": topics.alias("topic")}

    def sensor(self, topic: str) -> str | None:
        """The sensor id in a topic; None if the pattern has no place for it."""
        parts = topic.split("/")
        place = next((place for place, name, _ in self.levels if name == "id"), None)
        return parts[place] if place is not None and place < len(parts) else None

    def topic_of(self, sensor: str) -> str | None:
        """The topic of a sensor; None if the pattern leaves more open than the id."""
        parts = self.plain.removesuffix("/#").split("/")
        for place, name, _ in self.levels:
            if name != "id":
                return None
            parts[place] = sensor
        return "/".join(parts) if self.levels else "/".join([*parts, sensor])
