"""The spectrum page, over the boxes of examples/baggage: what was counted, what it matches, its peaks, and the decision."""

from __future__ import annotations

import gzip
import json
import runpy
from pathlib import Path

import pytest

from nilometer.laboratory.browser import Browser
from server.serving import served

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
AXE = gzip.decompress((Path(__file__).parent / "axe.min.js.gz").read_bytes()).decode()
LONG = 300.0
"""Seconds for the queries of a page on a busy machine."""
SHOWN = "document.querySelector('[data-decision]')?.innerText.trim()"


def test_spectra_of_boxes(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "examples" / "baggage" / "make.py"))["main"](tmp_path, None)
    with served(tmp_path) as server, Browser() as browser:
        for theme, width in (("light", 1440), ("dark", 390)):
            browser.media(prefers_color_scheme=theme)
            browser.size(width, 900, mobile=width < 720)
            browser.open(f"http://127.0.0.1:{server.port}/#/spectrum")
            browser.wait(f"{SHOWN} === 'hazard'", LONG)
            assert browser.run("!!document.querySelector('[data-matched]')")
            browser.run("window.axe === undefined && (() => { " + AXE + " })()")
            found = browser.run(
                "axe.run(document).then((all) => JSON.stringify(all.violations.map((one) => one.impact + one.id)))"
            )
            assert [one for one in json.loads(found) if one.startswith(("serious", "critical"))] == []
            assert browser.run("document.documentElement.scrollWidth") <= width
        boxes = json.loads(
            browser.run(
                "JSON.stringify([...document.querySelector('select').options].map((one) => one.value))"
            )
        )
        assert len(boxes) == 12
        safe = next(box for box in boxes if "background" in box)
        browser.run(f"location.hash = '/spectrum/' + encodeURIComponent({json.dumps(safe)})")
        browser.wait(f"{SHOWN} === 'safe' && !document.querySelector('[data-matched]')", LONG)
        browser.run(f"location.hash = '/spectrum/' + encodeURIComponent({json.dumps(boxes[0])})")
        browser.wait("!!document.querySelector('[data-peak]')", LONG)
        assert browser.errors == []


def test_without_spectra_the_page_says_what_it_needs(tmp_path: Path) -> None:
    with served(tmp_path, "CREATE STREAM air (pm25 FLOAT) PUSHED;") as server, Browser() as browser:
        browser.open(f"http://127.0.0.1:{server.port}/#/spectrum")
        browser.wait("document.body.innerText.includes('No spectra here')", LONG)
        assert browser.errors == []
