"""Maps of phenomena: what they show, in what form, and in which colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nilometer.algebra.places import WGS84
from nilometer.errors import ConfigurationError
from nilometer.pictures.field_map import animate_field, draw_field

SENSORS = {number: (float(number % 10), float(number // 10)) for number in range(100)} | {
    "far": (1000.0, 50.0)
}


def row(name: str, time: int, x: float, y: float) -> dict[str, Any]:
    """A square phenomenon of four sensors."""
    corners = ((x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), (x, y))
    region = ", ".join(f"{left} {up}" for left, up in corners)
    return {
        "id": name,
        "time": time,
        "region": f"POLYGON (({region}))",
        "members": [int(10 * up + left) for left, up in corners[:4]],
        "location": (x + 0.5, y + 0.5),
        "size": 4,
    }


def test_two_phenomena_have_two_colours(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    draw_field("smoke", 0, [row("a", 0, 1, 1), row("b", 0, 5, 5)], SENSORS, None, path)
    fills = {line for line in path.read_text().replace(";", "\n").splitlines() if "fill: #" in line}
    assert len(fills) >= 3, "two regions and the sensors around them"


@pytest.mark.parametrize("coordinates", ["m", WGS84])
def test_an_animation_has_the_form_of_what_is_around_its_phenomena(tmp_path: Path, coordinates: str) -> None:
    from PIL import Image

    path = tmp_path / "field.gif"
    history = [row("a", tick, tick / 10, 2) for tick in (0, 10, 20)]
    assert animate_field("smoke", 10, history, SENSORS, coordinates, path) == 3
    with Image.open(path) as image:
        width, height = image.size
        assert image.n_frames == 3  # type: ignore[attr-defined]
    assert width > height, "a field of 1,000 by 50 is wide, and a third of it is shown"


def test_a_field_without_places_is_not_drawn(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no places"):
        draw_field("smoke", 0, [], {}, None, tmp_path / "map.svg")
