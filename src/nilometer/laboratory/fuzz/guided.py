"""Fuzzes one target with atheris, in this process: `python -m nilometer.laboratory.fuzz.guided sql CORPUS CRASHES 60`.

The program's own modules are instrumented as they are imported; libFuzzer ends the process.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

COMPILED = ("nilometer.log.checksum", "nilometer.kernels", "nilometer.operators", "nilometer.spark")
"""Numba compiles functions of these, and cannot compile instrumented ones."""


def main(name: str, corpus: str, crashes: str, seconds: str) -> None:
    """Fuzz a target. `corpus` is read and added to; an input that crashes is written to `crashes`."""
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["nilometer"], exclude=list(COMPILED)):
        run = import_module("nilometer.laboratory.fuzz.run")
        targets = import_module("nilometer.laboratory.fuzz.targets")
    target = targets.targets()[name]

    def once(data: bytes) -> None:
        crash = run.attempt(target, data)
        if crash is not None:
            raise RuntimeError(crash)

    for number, data in enumerate(target.corpus):
        once(data)  # imports, and compiles kernels, before it is timed
        Path(corpus, f"known-{number}").write_bytes(data)
    options = (
        f"-max_total_time={seconds}",
        f"-max_len={run.LONGEST}",
        f"-artifact_prefix={crashes}/",
        "-print_final_stats=1",
        f"-timeout={2 * run.SLOW:.0f}",
    )
    atheris.Setup([sys.argv[0], *options, corpus], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
