"""The settings of the Spark host, from arguments, environment variables and nilometer.toml.

The order of precedence: an argument; then variables such as `NILOMETER_SPARK__MASTER`; then the table [spark]
of `nilometer.toml` in the data directory (or else in the working directory); then the defaults here. An
unknown name is refused, with the nearest known name as a hint. Spark's own settings may be given by their
full names, and are passed on unchanged:

    [spark]
    master = "spark://gateway:7077"
    buckets = 32
    spark.executor.memory = "4g"

    [spark.pipelines.slow]
    trigger = "1 min"

Names of shell variables have no dots; a double underscore replaces a dot:
`NILOMETER_SPARK__spark__executor__memory=4g`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from nilometer.catalog.near_misses import join_names, near_misses
from nilometer.errors import ConfigurationError
from nilometer.settings_file import settings_of

SECTION = "spark"
PREFIX = f"NILOMETER_{SECTION.upper()}__"
LOG_LEVELS = ("off", "error", "warn", "info", "debug")
MASTERS = r"local(-cluster)?(\[.*\])?|spark://.+|yarn|k8s://.+|sc://.+"
UNITS = {
    "ms": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
    "s": 1.0, "second": 1.0, "seconds": 1.0,
    "min": 60.0, "minute": 60.0, "minutes": 60.0,
}  # fmt: skip


@dataclass(frozen=True)
class SparkSettings:
    """How Nilometer uses Spark. A setting that is None is decided where it is used."""

    master: str | None = None
    """Where Spark runs: `local[*]`, `spark://host:7077`, `yarn`, `k8s://...` or `sc://host` (Spark Connect)."""
    buckets: int | None = None
    """The number of parts into which a query's keys are divided; fixed for the life of a query's version. The
    default is two per core of this machine, or 16 if Spark runs elsewhere. Each bucket costs some
    milliseconds in every micro-batch.
    """
    max_rows: int = 1_000_000
    """The largest number of readings in a micro-batch."""
    parts: int | None = None
    """The number of parts of a pipeline, of which several are run in tasks if a micro-batch is large. The default is 1 if
    Spark runs in this machine, else 4.
    """
    task_rows: int | None = None
    """From so many readings on, a micro-batch of a pipeline with several parts is run in tasks. By default it is if that is
    expected to be faster, by what the micro-batches before it took. Starting tasks costs some 40 ms.
    """
    trigger: float = 0.0
    """Seconds from one micro-batch to the next; 0: the next begins as soon as there is something to read."""
    checkpoints: str | None = None
    """Where the queries' checkpoints are kept, a directory or a URL; by default beside their result logs."""
    session_of: str | None = None
    """The data directory whose `serve` lends its session for questions over files; by default that of the files."""
    log_level: str = "error"
    """The level from which on Spark's log messages are shown."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Spark's own settings, by their full names."""
    pipelines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What differs for some pipelines (`CREATE QUERY ... IN PIPELINE p`), by lower-case name: settings of OF_PIPELINES."""

    def __post_init__(self) -> None:
        if self.master is not None and not re.fullmatch(MASTERS, self.master):
            raise ConfigurationError(
                f"'{self.master}' is not a master URL of Spark",
                hint="such as local[*], spark://host:7077, yarn, k8s://https://host:443 or sc://host",
            )
        for name in ("buckets", "max_rows", "parts"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ConfigurationError(
                    f"the setting '{name}' is {getattr(self, name)}, and must be at least 1"
                )
        if self.trigger < 0:
            raise ConfigurationError(f"the setting 'trigger' is {self.trigger:g} s, and must not be negative")
        if self.log_level not in LOG_LEVELS:
            hint = near_misses(self.log_level, LOG_LEVELS)
            raise ConfigurationError(f"'{self.log_level}' is not a level of logging", hint=hint)

    @classmethod
    def from_environment(
        cls,
        directory: str | Path | None = None,
        environment: Mapping[str, str] = os.environ,
        **arguments: Any,
    ) -> SparkSettings:
        """The settings for a data directory; an argument that is None is ignored."""
        said = _from_file(directory)
        said |= _from_variables(environment)
        said |= {name: value for name, value in arguments.items() if value is not None}
        return cls.of(said)

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> SparkSettings:
        """The settings with these names and values: `buckets`, `spark.executor.memory`; values may be text."""
        options = dict(said.get("options", {}))
        options |= {name: value for name, value in said.items() if name.startswith("spark.")}
        own = {name: value for name, value in said.items() if name not in options and name != "options"}
        pipelines: dict[str, dict[str, Any]] = {}
        for name in [name for name in own if name.startswith("pipelines.")]:
            pipeline, _, setting = name.removeprefix("pipelines.").rpartition(".")
            if not pipeline or setting not in OF_PIPELINES:
                listed = join_names(OF_PIPELINES, "and")
                raise ConfigurationError(
                    f"there is no setting '{setting}' of a pipeline",
                    hint=f"[spark.pipelines.NAME] has {listed}",
                )
            pipelines.setdefault(pipeline.lower(), {})[setting] = READERS[setting](name, own.pop(name))
        if "spark.master" in options:
            own["master"] = options.pop("spark.master")
        for name in own.keys() - set(NAMES):
            known = [*NAMES, *(["spark." + name] if "." in name else [])]
            raise ConfigurationError(f"there is no setting '{name}' of spark", hint=near_misses(name, known))
        values = {name: READERS[name](name, value) for name, value in own.items()}
        spark = {name: _text(value) for name, value in sorted(options.items())}
        found = cls(**values, options=spark, pipelines=pipelines)
        for pipeline in pipelines:
            found.of_pipeline(pipeline)  # refuses numbers that cannot be
        return found

    def of_pipeline(self, name: str) -> SparkSettings:
        """The settings of a pipeline."""
        return replace(self, pipelines={}, **self.pipelines.get(name.lower(), {}))

    @property
    def bucket_count(self) -> int:
        """The number of buckets of a new query."""
        return self.buckets if self.buckets is not None else 2 * cores_of(self.master or "local[*]") or 16

    @property
    def part_count(self) -> int:
        """The number of parts of a pipeline."""
        return self.parts if self.parts is not None else 1 if cores_of(self.master or "local[*]") else 4

    @property
    def session(self) -> dict[str, str]:
        """The settings of the session: see `spark_session`."""
        master = {"spark.master": self.master} if self.master else {}
        return {**master, "spark.log.level": self.log_level.upper(), **self.options}


def cores_of(master: str) -> int:
    """How many tasks run at once in this process; 0 if they run elsewhere.

    >>> (
    ...     cores_of("local"),
    ...     cores_of("local[3]"),
    ...     cores_of("local[2,4]"),
    ...     cores_of("yarn"),
    ...     cores_of("local-cluster[1,1,1]"),
    ... )
    (1, 3, 2, 0, 0)
    """
    if master == "local":
        return 1
    if not master.startswith("local["):
        return 0
    count = master.removeprefix("local[").rstrip("]").split(",")[0].strip()
    return len(os.sched_getaffinity(0)) if count == "*" else int(count)


def _from_file(directory: str | Path | None) -> dict[str, Any]:
    """The table [spark] of the first nilometer.toml found; names with dots are joined again."""
    whole, path = settings_of(directory)
    table = whole.get(SECTION, {})
    if not isinstance(table, dict):
        raise ConfigurationError(f"'{SECTION}' is a section, not a value", detail=f"in {path}")
    return dict(_flat(table))


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The settings of nested tables by full names: `spark.executor.memory = "4g"` is three tables to TOML,
    and one name to us.
    """
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield before + name, value


def _from_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in variables. Spark's own names keep their case; ours are upper case by custom."""
    said = {}
    for variable, value in environment.items():
        if variable.startswith(PREFIX):
            name = variable.removeprefix(PREFIX).replace("__", ".")
            said[name if name.startswith("spark.") else name.lower()] = value
    return said


def _text(value: object) -> str:
    """A value as Spark writes it.

    >>> _text(True), _text(2), _text("4g"), _text(["a", "b"])
    ('true', '2', '4g', 'a,b')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(map(_text, value))
    return str(value)


def _number(name: str, value: object) -> int:
    try:
        if isinstance(value, str | int) and not isinstance(value, bool):
            return int(value)
    except ValueError:
        pass
    raise ConfigurationError(f"the setting '{name}' is '{_text(value)}', and must be a whole number")


def _seconds(name: str, value: object) -> float:
    """
    >>> _seconds("trigger", "500 ms"), _seconds("trigger", "2 minutes"), _seconds("trigger", 1)
    (0.5, 120.0, 1.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(value).strip().lower())
    unit = match[2] or "s" if match else ""
    if match is None or unit not in UNITS:
        hint = f"such as '500 ms' or '2 s'; the units are {join_names(['ms', 's', 'min'], 'and')}"
        raise ConfigurationError(f"the setting '{name}' is '{_text(value)}', which is no duration", hint=hint)
    return float(match[1]) * UNITS[unit]


def _word(name: str, value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise ConfigurationError(f"the setting '{name}' is '{_text(value)}', and must be text")


def _level(name: str, value: object) -> str:
    return _word(name, value).lower()


READERS: dict[str, Any] = {
    "master": _word,
    "buckets": _number,
    "max_rows": _number,
    "parts": _number,
    "task_rows": _number,
    "trigger": _seconds,
    "checkpoints": _word,
    "session_of": _word,
    "log_level": _level,
}
NAMES = tuple(
    setting.name for setting in fields(SparkSettings) if setting.name not in ("options", "pipelines")
)
OF_PIPELINES = ("trigger", "max_rows", "parts", "task_rows")
"""Settings that a pipeline may have for itself. All have one session, and so one master."""
