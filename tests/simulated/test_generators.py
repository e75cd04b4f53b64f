"""The bounds of simulated fields, which users of HTTP may declare."""

from __future__ import annotations

import pytest

from nilometer.errors import ConfigurationError
from nilometer.simulated.generators import KINDS, MOST, simulated_field


@pytest.mark.promise("odd-inputs")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_field_has_a_bound(kind: str) -> None:
    """A thousand million sensors took all memory of the machine."""
    with pytest.raises(ConfigurationError, match="sensors in 'generate") as refused:
        simulated_field(kind, {"sensors": str(MOST + 1)})
    assert "at most 1,000,000" in str(refused.value.hint)


def test_a_field_that_follows_the_clock_does_not_stand_still() -> None:
    """Sensors that nobody read for an hour go on at the time of the clock; others go on where they were."""
    hour = 3_600_000_000
    for start, expected in (("now", 2 * hour), (None, hour)):
        field = simulated_field("plume", {"every": "1s"} | ({"start": start} if start else {}))
        assert field.begin(hour) == hour
        began = field.next_tick
        rows, _ = field.advance(began)
        assert field.begin(2 * hour, began) >= expected
        later, _ = field.advance(field.next_tick)
        moved = int(later["time"].max()) - int(rows["time"].max())  # type: ignore[arg-type]
        assert (moved >= hour) == (start == "now")
