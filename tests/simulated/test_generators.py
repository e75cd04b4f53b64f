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
