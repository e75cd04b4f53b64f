"""The settings of users' code, from the table [python] of nilometer.toml.

    [python]
    path = "functions"                  # a directory of modules, beside nilometer.toml
    modules = ["plant", "numpy"]        # the modules that a declaration by HTTP may name; default: none
    seconds = 5                         # of the processor, for a batch of at most 10,000 rows
    memory = "1GB"                      # of a worker process

A Spark worker reads the variable NILOMETER_PYTHON, which `take_settings` sets for the processes that this one starts.

>>> (
...     PythonSettings(modules=("plant",)).allows("plant.pumps"),
...     PythonSettings(modules=("plant",)).allows("plants"),
... )
(True, False)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.memory import size_of
from nilometer.settings_file import settings_of

SECTION = "python"
VARIABLE = "NILOMETER_PYTHON"
CLOCK = 6
"""A batch may take so many times its seconds by the clock: a machine that is busy with other things runs it later."""
LEAST_MEMORY = 100_000_000


@dataclass(frozen=True)
class PythonSettings:
    """`path` is a directory, or "". `memory` is in bytes."""

    path: str = ""
    modules: tuple[str, ...] = ()
    seconds: float = 5.0
    memory: int = 1_000_000_000

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 3_600:
            raise ConfigurationError(
                f"'seconds' of [{SECTION}] is {self.seconds:g}, and must be above 0 and at most 3600"
            )
        if self.memory < LEAST_MEMORY:
            raise ConfigurationError(f"'memory' of [{SECTION}] must be at least {LEAST_MEMORY // 10**6} MB")

    @property
    def clock(self) -> float:
        """The longest time of a batch by the clock, in seconds."""
        return self.seconds * CLOCK

    def allows(self, module: str) -> bool:
        """Whether a declaration by HTTP may name the module: it is listed, or inside a listed package."""
        return any(module == one or module.startswith(f"{one}.") for one in self.modules)


_taken: list[PythonSettings] = []


def python_settings() -> PythonSettings:
    """The settings that count now."""
    if _taken:
        return _taken[0]
    said = os.environ.get(VARIABLE)
    return PythonSettings() if not said else _of_variable(json.loads(said))


def take_settings(directory: str | Path | None) -> None:
    """Take over what the settings file of a data directory says."""
    whole, file = settings_of(directory)
    settings = _read(whole.get(SECTION, {}), file)
    _taken[:] = [settings]
    os.environ[VARIABLE] = json.dumps(asdict(settings))


def _of_variable(said: Mapping[str, Any]) -> PythonSettings:
    return PythonSettings(**{**said, "modules": tuple(said.get("modules", ()))})


def _read(said: object, file: Path | None) -> PythonSettings:
    if not isinstance(said, dict):
        raise ConfigurationError(f"[{SECTION}] is a table of settings", detail=f"in {file}")
    readers: dict[str, Callable[[object, Path], Any]] = {
        "path": _path,
        "modules": _modules,
        "seconds": _seconds,
        "memory": _memory,
    }
    for name in said.keys() - readers.keys():
        raise ConfigurationError(
            f"there is no setting '{name}' of {SECTION}",
            detail=f"in {file}",
            hint=f"there are: {', '.join(readers)}",
        )
    beside = Path.cwd() if file is None else file.parent
    return PythonSettings(**{name: readers[name](value, beside) for name, value in said.items()})


def _path(value: object, beside: Path) -> str:
    if not isinstance(value, str):
        raise ConfigurationError(f"'path' of [{SECTION}] is a directory in quotes")
    found = (beside / value).resolve()
    if not found.is_dir():
        raise ConfigurationError(f"the 'path' of [{SECTION}] is no directory", detail=f"{found} is not there")
    return str(found)


def _modules(value: object, _beside: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise ConfigurationError(
            f"'modules' of [{SECTION}] is a list of names", hint='write modules = ["plant", "numpy"]'
        )
    return tuple(value)


def _seconds(value: object, _beside: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigurationError(f"'seconds' of [{SECTION}] is a number", hint="write seconds = 5")
    return float(value)


def _memory(value: object, _beside: Path) -> int:
    if not isinstance(value, str):
        raise ConfigurationError(f"'memory' of [{SECTION}] is a size in quotes", hint='write memory = "1GB"')
    return size_of(value)
