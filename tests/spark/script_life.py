"""Runs query scripts on the Spark that the environment names, in a process of its own: `python script_life.py SCRIPT...`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts import Run, read_script


def main(paths: list[str]) -> None:
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            Run(read_script(Path(path)), "spark", Path(folder)).run()
        print(path, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
