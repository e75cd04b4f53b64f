"""The fields of `examples/`: made in a temporary directory, of the measurements where they are at hand.

NILOMETER_EXAMPLE_DATA names the folder of the measurements (`smoke_pm25`, `la_loop`, `ngsim_us101`). Without it the
example writes a field of the same shape. The examples are part of the source, not of an installed package.
"""

from __future__ import annotations

import os
import runpy
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nilometer.engine import Database, connect

EXAMPLES = Path(__file__).parents[3] / "examples"
FOLDERS = {
    "campfire": "smoke_pm25",
    "la_loop": "la_loop",
    "us101": "ngsim_us101",
    "baggage": "gamma_measured",
}


@contextmanager
def example_field(name: str) -> Iterator[tuple[Database, str] | None]:
    """The database of an example, and where its readings are from; None where there are no examples."""
    if not (EXAMPLES / name / "make.py").exists():
        yield None
        return
    given = os.environ.get("NILOMETER_EXAMPLE_DATA")
    data = Path(given) / FOLDERS[name] if given else None
    measured = data is not None and data.is_dir()
    with tempfile.TemporaryDirectory() as directory:
        runpy.run_path(str(EXAMPLES / name / "make.py"))["main"](Path(directory), data if measured else None)
        yield connect(directory), "measured" if measured else "generated, of the same shape"
