"""`nilometer reproduce snee-motes`: Fig. 28 and section 4.6 from binaries."""

from __future__ import annotations

import pytest

from nilometer.laboratory.reproductions import REPRODUCTIONS
from nilometer.laboratory.reproductions.verdict import Verdict


@pytest.mark.motes
@pytest.mark.long
def test_the_running_example_on_motes() -> None:
    figures = REPRODUCTIONS["snee-motes"]()["figures"]
    for name, figure in figures.items():
        assert figure["verdict"] in (Verdict.SHAPE, Verdict.HOLDS), (name, figure["ours"])
