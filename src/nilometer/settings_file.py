"""Reads `nilometer.toml` of a data directory, or else of the working directory.

memory = "2GB"          # of this process, divided among its parts: memory.py
logs = "s3://bucket/x"  # where the logs of the data directory are, if not in it: log/directory.py
[spark]                 # spark/settings.py
master = "local[2]"
[limits]                # live/limits.py
rows_out = 1000
[python]                # workers/settings.py
path = "functions"

At the top, too: smtp = "smtp://gateway:${SMTP_PASSWORD}@mail.example.org:587", which sends mail (live/alerts).
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from nilometer import memory
from nilometer.errors import ConfigurationError

FILE = "nilometer.toml"
KEYS = ("memory", "logs", "spark", "limits", "smtp", "python")


def settings_of(directory: str | Path | None) -> tuple[dict[str, Any], Path | None]:
    """The settings of the first file found, and its path."""
    for place in (Path(directory) if directory is not None else None, Path.cwd()):
        path = place / FILE if place is not None else None
        if path is None or not path.is_file():
            continue
        whole = _read(path)
        for name in whole.keys() - set(KEYS):
            near = get_close_matches(name, KEYS, n=1)
            what = "section" if isinstance(whole[name], dict) else "setting"
            raise ConfigurationError(
                f"there is no {what} '{name}'" + (" of settings" if what == "section" else ""),
                detail=f"in {path}",
                hint=f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(KEYS)}",
            )
        return whole, path
    return {}, None


def logs_setting(directory: Path) -> str | None:
    """Where the directory's own file says that its logs are. Asked often, so the file is read when it has changed."""
    path = directory / FILE
    try:
        known = path.stat()
    except OSError:
        return None
    return _logs_setting(path, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=64)
def _logs_setting(path: Path, changed: int, size: int) -> str | None:
    del changed, size
    found = _read(path).get("logs")
    if found is not None and (not isinstance(found, str) or not found):
        raise ConfigurationError(
            f"the setting 'logs' is {found!r}, and must be a folder or a URL",
            detail=f"in {path}",
            hint='such as logs = "s3://bucket/field"',
        )
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not TOML", detail=str(error)) from None
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}", detail=error.strerror) from None


def apply_settings(directory: str | Path | None) -> None:
    """Take over the settings that concern the whole process."""
    whole, path = settings_of(directory)
    memory.take_from_file(whole.get("memory"), str(path))
