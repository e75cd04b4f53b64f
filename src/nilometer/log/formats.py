"""The formats of the files of a data directory, by number. A reader knows some of them and refuses the others.

A file without a stamp is of format 1, from before there were stamps. The law: bytes that a newer release
wrote are refused by a message, never cut off, skipped or overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nilometer.errors import DataError

STAMP = "format"


class FormatError(DataError):
    """A file of a format that this release does not know."""


def check_format(said: Mapping[str, Any], known: int, what: str) -> None:
    """Refuse a description whose stamp is none of the formats up to `known`."""
    found = said.get(STAMP, 1)
    if not isinstance(found, int) or not 1 <= found <= known:
        raise unknown_format(what, f"format {found}", f"up to {known}")


def unknown_format(what: str, found: str, known: str) -> FormatError:
    """The error for bytes of an unknown format."""
    return FormatError(
        f"{what} is of {found}, and this release of Nilometer knows {known}",
        hint="a newer release wrote it: use that release; nothing was changed",
    )
