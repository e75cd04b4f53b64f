"""`nilometer reproduce snee-motes`: Fig. 28 from binaries."""

from __future__ import annotations

import pytest

from nilometer.laboratory.reproductions import REPRODUCTIONS


@pytest.mark.motes
@pytest.mark.long
def test_the_running_example_on_motes() -> None:
    figure = REPRODUCTIONS["snee-motes"]()["figures"]["Fig. 28"]
    assert figure["shape"], figure["ours"]
