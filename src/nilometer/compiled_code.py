"""A directory for the machine code that Numba keeps, where its own choices cannot be written.

Numba writes beside the package, or into the user's cache. A service user has often neither: the package is root's, and
the home is not there. Numba then refuses to load any kernel. The law: code is only loaded from a directory that is
this user's alone, because a file in it is run.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path

PLACE = "NUMBA_CACHE_DIR"


def keep_compiled_code(
    environment: MutableMapping[str, str] = os.environ, package: Path = Path(__file__).parent
) -> None:
    """Name a directory in the environment, for this process and its children, if there is a need."""
    if PLACE in environment or _writable(package):
        return
    home = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if _writable(Path(home) / "numba"):
        return
    own = Path(tempfile.gettempdir()) / f"nilometer-numba-{os.getuid()}"
    if not _writable(own.parent):
        return  # then Numba says that there is no place
    with suppress(FileExistsError):
        own.mkdir(mode=0o700)
    found = own.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
        environment[PLACE] = str(own)
    else:
        environment[PLACE] = tempfile.mkdtemp(prefix="nilometer-numba-")


def _writable(place: Path) -> bool:
    """Whether files can be written there, or the directory can be made."""
    # Unlike Path.exists, it does not raise below a locked directory.
    while not os.path.exists(place) and place != place.parent:
        place = place.parent
    return os.access(place, os.W_OK | os.X_OK)
