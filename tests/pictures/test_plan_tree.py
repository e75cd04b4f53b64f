"""A plan's drawing has a box for each line of its text, whatever the query says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.engine import Database, connect
from nilometer.pictures.plan_tree import Box, boxes_of, draw_plan

SVG = "{http://www.w3.org/2000/svg}"
BROOK = "examples/brook"
JOINED = (
    "SELECT a.id, AVG(a.depth) AS m FROM river [RANGE 1 HOUR SLIDE 15 MINUTES] a, hilltop [NOW] h "
    "WHERE a.rain > h.rain GROUP BY a.id"
)


@pytest.fixture(scope="module")
def brook() -> Database:
    return connect(BROOK)


def _all(boxes: list[Box]) -> list[Box]:
    return [each for box in boxes for each in (box, *_all(box.below))]


@pytest.mark.parametrize("stage", ["ast", "logical", "optimized", "physical", "spark", "fragments", "demand"])
def test_every_line_is_a_box(brook: Database, stage: str) -> None:
    text = brook.sql(JOINED).explain(stage)
    boxes, notes = boxes_of(text, stage)
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(_all(boxes)) + len(notes) == len(lines)
    assert len(boxes) == (2 if stage == "demand" else 1)
    drawn = ElementTree.fromstring(draw_plan(text, stage))
    assert len(list(drawn.iter(f"{SVG}g"))) == len(_all(boxes))


def test_inputs_stand_below_and_beside_each_other(brook: Database) -> None:
    drawn = ElementTree.fromstring(brook.sql(JOINED).picture("physical"))
    places = {}
    for group in drawn.iter(f"{SVG}g"):
        box, name = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert box is not None
        assert name is not None
        places[name.text, float(box.attrib["x"])] = float(box.attrib["y"]), box.attrib["class"]
    (join,) = ((at, y) for (name, at), (y, _) in places.items() if name == "NL_JOIN")
    sensed = sorted((at, y, kind) for (name, at), (y, kind) in places.items() if name == "SP_ACQUIRE")
    assert [kind for _, _, kind in sensed] == ["sensors", "sensors"]
    assert sensed[0][0] < join[0] < sensed[1][0]
    assert all(y > join[1] for _, y, _ in sensed)


@pytest.mark.parametrize("stage", ["routing", "placed", "agenda"])
def test_a_placement_is_a_drawing(brook: Database, stage: str) -> None:
    drawn = brook.sql(JOINED).picture(stage)
    assert ElementTree.fromstring(drawn.encode()).tag == f"{SVG}svg"


@given(st.text(max_size=80))
def test_any_text_is_well_formed(said: str) -> None:
    text = f"DELIVER [TICK]\n  SELECT [R.name = '{said}']\n    ACQUIRE [river AS R; name]"
    drawn = ElementTree.fromstring(draw_plan(text, "optimized"))
    assert not re.search("script", " ".join(drawn.attrib))
    assert [each.tag for each in drawn.iter() if each.tag.endswith("script")] == []
