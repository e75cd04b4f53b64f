"""Where the runs of pipelines leave what lasts no longer than they do: `.nilometer/pipelines/<pipeline>/<run>`.

The law: a run belongs to the owner of the directory. When an owner begins, there is none, and all folders are of runs that
were killed.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

FOLDER = Path(".nilometer") / "pipelines"


def folder_of_runs(directory: Path, pipeline: str) -> Path:
    """The folder of a pipeline's runs."""
    return directory / FOLDER / pipeline.lower()


def delete_runs(directory: Path, pipeline: str) -> None:
    """Delete the folder of a pipeline whose run has ended; with the last of them, nothing is left."""
    shutil.rmtree(folder_of_runs(directory, pipeline), ignore_errors=True)
    with suppress(OSError):  # others run
        (directory / FOLDER).rmdir()


def clear_run_folders(directory: Path) -> None:
    """Delete what runs have left. Only for the owner, before it runs anything."""
    shutil.rmtree(directory / FOLDER, ignore_errors=True)
