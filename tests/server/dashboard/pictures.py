"""The pictures of the dashboard in docs/pictures, from today's pages: smoke over 160 monitors, made from a seed.

    cd tests && ../nilo python -m server.dashboard.pictures ../docs/pictures

All but that of the peers, which needs three gateways.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image

from nilometer.laboratory.browser import Browser
from server.dashboard.test_dashboard import MAP, Site, contains, write
from server.serving import Caller, served

MONITORS, MINUTES = 160, 240
COLOURS = 256
"""So many are enough for a screen, and make a small file."""
STREAM = """
CREATE STREAM air (id INT, pm25 FLOAT UNIT 'ug/m3') PUSHED DELAY 2 MINUTES KEY (id, time) EXPECT EVERY 1 MINUTE
  COORDINATES WGS84;
"""
QUERIES = """
CREATE PHENOMENON smoke ON air.pm25 ABOVE 50 RANGE 10 MINUTES SLIDE 10 MINUTES STRENGTH 3 NEIGHBOURS WITHIN 9 KM MEMBERS 3;
CREATE QUERY plumes STARTING AT BEGINNING AS SELECT * FROM PHENOMENA(smoke);
CREATE QUERY arrivals STARTING AT BEGINNING AS SELECT * FROM ARRIVALS(smoke, 1 HOUR);
CREATE QUERY way STARTING AT BEGINNING AS
  SELECT id, AVG(pm25) AS mean FROM air [RANGE 15 MINUTES SLIDE 5 MINUTES] WHERE id IN (66, 69, 71, 87) GROUP BY id;
CREATE QUERY peaks STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air WHERE pm25 > 165;
CREATE ALERT dense WHEN (SELECT time, id, pm25 FROM air WHERE pm25 > 150) THEN 'http://127.0.0.1:9/hook'
  GROUP BY id DEBOUNCE 4 MINUTES;
CREATE DECISION act ON peaks CHOOSE ('close the windows' WHEN pm25 > 170, 'watch' OTHERWISE);
"""


def field() -> tuple[np.ndarray, np.ndarray]:
    """Where the monitors are: a grid that is not quite one."""
    dice = np.random.default_rng(7)
    columns, rows = np.meshgrid(np.linspace(-121.95, -121.25, 16), np.linspace(39.5, 39.85, 10))
    x = columns.ravel() + dice.uniform(-0.018, 0.018, MONITORS)
    return x, rows.ravel() + dice.uniform(-0.014, 0.014, MONITORS)


def readings(now: int, x: np.ndarray, y: np.ndarray) -> pl.DataFrame:
    """Two plumes: one drifts in from the west, the other one to the north-east."""
    dice = np.random.default_rng(8)
    minutes = np.arange(MINUTES)[:, None]
    since = minutes / MINUTES
    values = np.full((MINUTES, MONITORS), 8.0)
    for left, bottom, right, top, width, height, most in (
        (-122.05, 39.6, -121.66, 39.69, 0.065, 0.045, 175.0),
        (-121.5, 39.48, -121.33, 39.72, 0.05, 0.06, 110.0),
    ):
        across = (x - (left + (right - left) * since)) / width
        up = (y - (bottom + (top - bottom) * since)) / height
        values += most * np.exp(-(across**2 + up**2) / 2)
    values = np.round(np.abs(values + dice.normal(0, 1.5, values.shape)), 1)
    times = np.broadcast_to((now - 60 * (MINUTES - minutes)) * 1_000_000, values.shape)
    ids = np.broadcast_to(np.arange(1, MONITORS + 1), values.shape)
    return pl.DataFrame({"time": times.ravel(), "id": ids.ravel(), "pm25": values.ravel()})


def fill(site: Site, x: np.ndarray, y: np.ndarray) -> None:
    """Four hours of it, some sent twice, some garbled."""
    caller = site.caller
    rows = readings(site.now, x, y)
    for part in (rows, rows.tail(MONITORS)):
        part.write_ipc_stream(body := io.BytesIO())
        kind = "application/vnd.apache.arrow.stream"
        assert caller("POST", "/api/v1/streams/air/readings", body.getvalue(), kind).status == 200
    caller("POST", "/api/v1/streams/air/readings", [{"id": 17, "pm25": "ERR"}, {"id": 3}])


def save(browser: Browser, path: Path, *, shades: bool = False) -> None:
    """A picture; of few colours, unless it has a map, whose shades would turn into steps."""
    browser.run("new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(true)), 1500))")
    browser.picture(path)
    found = Image.open(path).convert("RGB")
    if not shades:
        found = found.quantize(COLOURS, dither=Image.Dither.NONE)
    found.save(path, optimize=True)


def main() -> None:
    """As the module says."""
    folder = Path(sys.argv[1])
    x, y = field()
    places = "".join(
        f"CREATE SENSOR {at} OF air AT ({one:.4f}, {two:.4f});\n"
        for at, (one, two) in enumerate(zip(x, y, strict=True), 1)
    )
    with (
        tempfile.TemporaryDirectory() as made,
        served(Path(made), STREAM + places + QUERIES) as server,
        Browser() as browser,
    ):
        site = Site(server, browser)
        site.now = int(time.time()) // 60 * 60
        fill(site, x, y)
        caller = Caller(server.port, {"Connection": "close"})
        while any(not each["state_bytes"] for each in caller.get("/api/v1/queries")["items"]):
            time.sleep(0.5)

        def light(width: int, height: int, theme: str = "light") -> None:
            browser.media(prefers_color_scheme=theme, prefers_reduced_motion="reduce")
            browser.size(width, height)

        light(1280, 820)
        site.go("field", f"{MAP} && Number(document.querySelector('[data-regions]')?.dataset.regions) > 0")
        save(browser, folder / "dashboard-arrivals.png", shades=True)
        light(1280, 800, "dark")
        site.go("field", f"{MAP} && Number(document.querySelector('[data-regions]')?.dataset.regions) > 0")
        browser.click("List")
        browser.wait("!!document.querySelector('.search input')")
        browser.run("document.querySelector('.search input').focus()")
        browser.type("87")
        browser.click("87", "document.querySelector('main ul')")
        browser.click("Map")
        browser.wait("!!document.querySelector('aside .chart canvas')")
        save(browser, folder / "dashboard-field-dark.png", shades=True)
        light(1440, 900)
        site.go("queries/way", "!!document.querySelector('.chart canvas')")
        save(browser, folder / "dashboard-queries.png")
        site.go("editor", "!!document.querySelector('.cm-content')")
        write(site, "SELECT id, AVG(pm52) AS mean\nFROM air [RANGE 1 HOUR SLIDE 15 MINUTES]\nGROUP BY id")
        browser.key("Escape")
        browser.click("Run")
        browser.wait("!!document.querySelector('.problem')")
        browser.size(1440, 560)
        save(browser, folder / "dashboard-error.png")
        light(1440, 900)
        write(
            site,
            "SELECT id, AVG(pm25) AS mean\nFROM air [RANGE 1 HOUR SLIDE 15 MINUTES]\nWHERE pm25 > 3 GROUP BY id",
        )
        browser.key("Escape")
        browser.click("Explain")
        browser.wait("document.querySelector('[role=tabpanel] svg')?.innerHTML.includes('ACQUIRE')")
        save(browser, folder / "dashboard-plan.png")
        light(1280, 1040)
        site.go("streams", contains("the books balance"))
        browser.wait("!!document.querySelector('[aria-label=\"Dead letters\"] .head')")
        browser.run("document.querySelector('[aria-label=\"Dead letters\"] .head').click()")
        browser.wait("!!document.querySelector('textarea')")
        save(browser, folder / "dashboard-streams.png")
        light(1440, 900)
        site.go("alerts", f"{contains('firing')} && {contains('because')}")
        save(browser, folder / "dashboard-alerts.png")
        browser.size(390, 844, scale=2, mobile=True)
        site.go("field", f"{MAP} && Number(document.querySelector('[data-regions]')?.dataset.regions) > 0")
        save(browser, folder / "dashboard-phone.png", shades=True)
        print(json.dumps({each.name: each.stat().st_size for each in sorted(folder.glob("dashboard-*.png"))}))


if __name__ == "__main__":
    main()
