"""The place of a query's Spark checkpoint, if it is not beside the query's answers; `installation.json` names
it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path


def checkpoint_elsewhere(installation: Path) -> str | None:
    """The directory or URL of a checkpoint that is kept elsewhere."""
    try:
        found = json.loads(installation.read_bytes()).get("checkpoint")
    except (OSError, ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None


def delete_checkpoint(installation: Path) -> bool:
    """Delete a checkpoint that is kept elsewhere. False if that fails: the checkpoint stays, but no query
    uses it.
    """
    place = checkpoint_elsewhere(installation)
    if place is None:
        return True
    if "://" not in place:
        shutil.rmtree(place, ignore_errors=True)
        return not Path(place).exists()
    from pyarrow import fs

    try:
        filesystem, folder = fs.FileSystem.from_uri(place)
        filesystem.delete_dir(folder)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return True
