"""Every script of this folder, on the reference first and then on every other host there is."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from nilometer.engine.hosts import HOSTS
from scripts import Run, read_script

HERE = Path(__file__).parent
SCRIPTS = sorted(HERE.rglob("*.test"))
# Spark has its own tests of the scripts (tests/spark), in one session.
ORDERED_HOSTS = sorted(HOSTS.keys() - {"spark"}, key=lambda host: (host != "reference", host))


def _absent(host: str) -> str | None:
    """Why a host cannot be asked at all."""
    if host == "gateway" and find_spec("nilometer.engine.gateway") is None:
        return "nilometer.engine.gateway is not there yet"
    return None


def _name(path: Path) -> str:
    return path.relative_to(HERE).as_posix()


@pytest.mark.parametrize("host", ORDERED_HOSTS)
@pytest.mark.parametrize("path", SCRIPTS, ids=_name)
def test_script(path: Path, host: str, rewrite: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    script = read_script(path)
    if host == "reference":
        run = Run(script, host, tmp_path, rewrite=rewrite)
        run.run()
        if run.replaced:
            path.write_text(run.rewritten(), encoding="utf-8")
        return
    if rewrite:
        pytest.skip("scripts are rewritten from the reference's answers")
    absent = _absent(host)
    if absent is not None:
        pytest.skip(absent)
    if host in script.gaps:
        request.applymarker(pytest.mark.xfail(reason=script.gaps[host], strict=True))
    for batch_rows in (None, 1):  # how the log is cut into batches changes nothing
        Run(script, host, tmp_path, batch_rows=batch_rows).run()


@pytest.mark.parametrize("path", SCRIPTS, ids=_name)
def test_header(path: Path) -> None:
    """A script says its own name, and gaps only of hosts there are."""
    script = read_script(path)
    assert script.lines[0] == f"# name: queries/{_name(path)}"
    assert script.gaps.keys() <= HOSTS.keys() - {"reference"}
