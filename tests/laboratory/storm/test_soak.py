"""Two simulated hours in coarse turns: nothing grows, and the judge of that can say no."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nilometer.laboratory.storm.soak import soak
from nilometer.types import MINUTE


@pytest.mark.promise("flat")
def test_nothing_grows_in_a_short_soak(tmp_path: Path) -> None:
    soaked = soak(tmp_path, 2, turn=4 * MINUTE)
    assert soaked.trouble == ()
    assert soaked.hours[-1].answers > 100
    assert [what for what in soaked.grows if not what.startswith("time a turn")] == []
    early, late = soaked.hours
    leaky = replace(
        soaked, hours=(early, early, replace(late, rss=2 * early.rss, descriptors=early.descriptors + 99))
    )
    assert [what.split(":")[0] for what in leaky.grows][:2] == ["memory", "descriptors"]
    assert "Verdict: memory" in leaky.table()
