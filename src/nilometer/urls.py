"""Whether a place is a URL; apart from the stores, so that asking imports nothing."""

from __future__ import annotations

import re

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(place: object) -> bool:
    """Whether a place is a URL, and no path.

    >>> is_url("s3://bucket/field"), is_url("field/"), is_url("C:/field")
    (True, False, False)
    """
    return isinstance(place, str) and _URL.match(place) is not None
