"""Where the runs of pipelines leave what lasts no longer than they do: `.nilometer/pipelines/<pipeline>/<run>`.

The law: a run belongs to the owner of the directory. When an owner begins, there is none, and all folders are of runs that
were killed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = Path(".nilometer") / "pipelines"


def folder_of_runs(directory: Path, pipeline: str) -> Path:
    """The folder of a pipeline's runs."""
    return directory / FOLDER / pipeline.lower()


def clear_run_folders(directory: Path) -> None:
    """Delete what runs have left. Only for the owner, before it runs anything."""
    shutil.rmtree(directory / FOLDER, ignore_errors=True)
