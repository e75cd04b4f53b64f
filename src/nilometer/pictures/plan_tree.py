"""A plan as EXPLAIN prints it -> a drawing (SVG): data comes from the sensors at the bottom, the answer leaves at the
top.

The law: each line of the text that is no remark is one box, with the same words, below the box of the line that it is
indented under. So whatever EXPLAIN can print, it can draw, at every stage. Remarks (`-- ...`) stand under the drawing.

>>> drawing = draw_plan("DELIVER [TICK]\\n  ACQUIRE [river AS R; depth]", "optimized")
>>> drawing.count("<rect class="), "river AS R" in drawing
(2, True)
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from nilometer.pictures.colours import FRAGMENTS

WIDE = 268
LINE = 14
LETTERS = 38
"""Letters in a line of a box."""
MOST_LINES = 4
FRAGMENTED = ("spark", "fragments")
"""The stages that divide a plan into fragments."""
GAP_X, GAP_Y, EDGE = 26, 34, 18
HOSTS = {
    "sensors": "at the sensors, or their source",
    "stored": "a stored table",
    "gateway": "on the gateway",
    "spark": "on Spark",
    "syntax": "",
}
STYLE = """
svg{font-family:Inter,system-ui,'Segoe UI',sans-serif;background:#fff}
rect{fill:#f3f5f8;stroke:#9aa5b1}.sensors{fill:#e3f4ee;stroke:#1f8a70}.stored{fill:#fdf1dc;stroke:#b7791f}
.gateway{fill:#e6eefb;stroke:#3b6fc4}.spark{fill:#fde9e0;stroke:#c8553d}.n{font-size:12.5px;font-weight:600;fill:#1f2933}
.w{font-size:10.5px;font-family:'JetBrains Mono',ui-monospace,Menlo,monospace;fill:#1f2933}
.r{font-size:10.5px;fill:#52606d}.l{fill:none;stroke:#9aa5b1;stroke-width:1.6}
@media(prefers-color-scheme:dark){svg{background:#12171d}rect{fill:#1b222b;stroke:#5b6673}
.sensors{fill:#12332b;stroke:#3fb68f}.stored{fill:#3a2c12;stroke:#d9a441}.gateway{fill:#16294a;stroke:#6b9bea}
.spark{fill:#40211a;stroke:#e58a6f}.n,.w{fill:#e8edf2}.r{fill:#a9b4c0}.l{stroke:#5b6673}}
"""
_PLAN = re.compile(r"(?P<name>[A-Z][A-Z_0-9]*)(?: \[(?P<words>.*)\])?(?P<marks>(?: @\w+)*)", re.DOTALL)
_SYNTAX = re.compile(r"(?:(?P<marks>\w+): )?(?P<name>\w+)(?P<words>.*)", re.DOTALL)
_DEMAND = re.compile(r"(?P<name>[^:]{1,40}?(?=:|$)|.{1,36})(?P<words>.*)", re.DOTALL)
_FRAGMENT = re.compile(r"(?P<name>fragment \d+|F\d+)(?P<words>.*)", re.DOTALL)
_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Box:
    """One line of the text, and those that are indented under it."""

    name: str
    words: str
    remark: str
    host: str
    colour: str | None = None
    below: list[Box] = field(default_factory=list)
    x: float = 0.0
    depth: int = 0

    @property
    def lines(self) -> list[str]:
        """The words as they stand in the box."""
        found = textwrap.wrap(self.words, LETTERS, break_long_words=True) or []
        if len(found) > MOST_LINES:
            found = [*found[: MOST_LINES - 1], f"{found[MOST_LINES - 1][: LETTERS - 1]}…"]
        return found

    @property
    def high(self) -> int:
        """How high the box is."""
        return 30 + LINE * (len(self.lines) + len(self.remarks))

    @property
    def remarks(self) -> list[str]:
        """The remark in lines."""
        return textwrap.wrap(self.remark, LETTERS + 6)[:3]


def draw_plan(text: str, stage: str) -> str:
    """The drawing of a plan's text."""
    roots, notes = boxes_of(text, stage)
    everything = [box for root in roots for box in _walk(root)]
    levels = [0] * (1 + max((box.depth for box in everything), default=0))
    edge = 0.0
    for root in roots:
        edge = _spread(root, edge)
    for box in everything:
        levels[box.depth] = max(levels[box.depth], box.high)
    tops = [EDGE + sum(levels[:depth]) + GAP_Y * depth for depth in range(len(levels))]
    wide = max(edge - GAP_X, 420) + 2 * EDGE
    body = list(_links(everything, tops))
    for box in everything:
        body += _drawn(box, tops[box.depth])
    low = tops[-1] + levels[-1] + 26
    body += _legend(everything, low)
    low += 20
    for note in (line for each in notes for line in textwrap.wrap(each, max(40, int(wide / 6.2)))):
        body.append(f'<text class="r" x="{EDGE}" y="{low}">{_shown(note)}</text>')
        low += LINE + 2
    spoken = _shown(f"The plan of a query, stage {stage}: {', '.join(box.name for box in everything)}")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {low:g}" width="{wide:g}" height="{low:g}" '
        f'role="img"><title>{spoken}</title><style>{STYLE}</style>'
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def boxes_of(text: str, stage: str) -> tuple[list[Box], list[str]]:
    """The trees of a text, and its remarks."""
    roots: list[Box] = []
    notes: list[str] = []
    path: list[Box] = []
    pattern = {"ast": _SYNTAX, "demand": _DEMAND}.get(stage, _PLAN)
    for line in text.splitlines():
        depth, words = (len(line) - len(line.lstrip(" "))) // 2, line.strip()
        if words.startswith("-- "):
            notes.append(words[3:])
            continue
        said, _, remark = words.partition("  -- ")
        found = pattern.fullmatch(said) or (_FRAGMENT.fullmatch(said) if stage in FRAGMENTED else None)
        if found is None:
            if path and depth and stage not in FRAGMENTED:  # a text in the query has a line end of its own
                path[-1].words += f" {words}"
            elif words:
                notes.append(words)
            continue
        parts = found.groupdict()
        inner = (parts["words"] or "").strip(" :,")
        marks = (parts.get("marks") or "").strip()
        inner = " ".join(filter(None, (marks, inner) if stage == "ast" else (inner, marks)))
        box = Box(found["name"], inner, remark, _host(found["name"], stage))
        del path[depth:]
        (path[-1].below if path else roots).append(box)
        path.append(box)
    if stage in FRAGMENTED:
        roots = _joined(roots)
    for root in roots:
        _deepen(root, 0, None)
    return roots, notes


def _joined(fragments: list[Box]) -> list[Box]:
    """Fragments under the operators that receive their rows, so that the plan is one tree again."""
    by_name = {root.name: root for root in fragments}
    used: set[str] = set()
    for box in [box for root in fragments for box in _walk(root)]:
        sender = box.words.split(" @")[0]
        if box.name == "RECEIVE" and sender in by_name and sender not in used:
            used.add(sender)
            box.below.append(by_name[sender])
    return [root for root in fragments if root.name not in used] or fragments


def _deepen(box: Box, depth: int, colour: str | None) -> None:
    """Say how deep each box is, and to which fragment it belongs."""
    if _FRAGMENT.fullmatch(box.name):
        colour = FRAGMENTS[int(re.sub(r"\D", "", box.name)) % len(FRAGMENTS)]
    box.depth, box.colour = depth, colour
    for each in box.below:
        _deepen(each, depth + 1, colour)


def _host(name: str, stage: str) -> str:
    if stage == "ast":
        return "syntax"
    if stage == "demand":
        return "sensors"
    if "ACQUIRE" in name:
        return "sensors"
    if "STORED" in name or "SCAN" in name or name == "VALUES":
        return "stored"
    return "spark" if stage == "spark" else "gateway"


def _spread(box: Box, edge: float) -> float:
    """Give places from left to right: inputs side by side, each operator over the middle of its own."""
    if not box.below:
        box.x = edge
        return edge + WIDE + GAP_X
    for each in box.below:
        edge = _spread(each, edge)
    box.x = (box.below[0].x + box.below[-1].x) / 2
    return edge


def _walk(box: Box) -> Iterator[Box]:
    yield box
    for each in box.below:
        yield from _walk(each)


def _links(boxes: Sequence[Box], tops: Sequence[float]) -> Iterator[str]:
    for box in boxes:
        for each in box.below:
            x, y = each.x + EDGE + WIDE / 2, tops[each.depth]
            u, v = box.x + EDGE + WIDE / 2, tops[box.depth] + box.high
            yield f'<path class="l" d="M{x:g} {y:g}C{x:g} {y - 18:g} {u:g} {v + 18:g} {u:g} {v:g}"/>'


def _drawn(box: Box, top: float) -> Iterator[str]:
    x, inside = box.x + EDGE, box.x + EDGE + 12
    whole = _shown(f"{box.name} [{box.words}]" if box.words else box.name)
    yield f'<g><title>{whole}</title><rect class="{box.host}" x="{x:g}" y="{top:g}" width="{WIDE}" height="{box.high}" rx="9"/>'
    if box.colour is not None:
        yield f'<rect x="{x:g}" y="{top + 9:g}" width="4" height="{box.high - 18}" rx="2" style="fill:{box.colour};stroke:none"/>'
    yield f'<text class="n" x="{inside:g}" y="{top + 20:g}">{_shown(box.name)}</text>'
    y = top + 20
    for kind, lines in (("w", box.lines), ("r", box.remarks)):
        for line in lines:
            y += LINE + 1
            yield f'<text class="{kind}" x="{inside:g}" y="{y:g}">{_shown(line)}</text>'
    yield "</g>"


def _legend(boxes: Sequence[Box], y: float) -> Iterator[str]:
    x = float(EDGE)
    for host, meaning in HOSTS.items():
        if meaning and any(box.host == host for box in boxes):
            yield f'<rect class="{host}" x="{x:g}" y="{y - 9:g}" width="11" height="11" rx="3"/>'
            yield f'<text class="r" x="{x + 17:g}" y="{y:g}">{meaning}</text>'
            x += 40 + 6.1 * len(meaning)


def _shown(text: str) -> str:
    return escape(_INVALID.sub("�", text))
