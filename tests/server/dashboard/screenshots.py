"""Every page of the dashboard, light and dark, 1440 and 390 pixels wide, as pictures to look at.

    cd tests && ../nilo python -m server.dashboard.screenshots FOLDER [ADDRESS]

Without the address of a server, it shows the field of the tests. The pages are those of the menu.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from nilometer.laboratory.browser import Browser
from server.dashboard.test_dashboard import SCHEMA, SENSORS
from server.serving import Caller, served

FORMS = {"wide": (1440, 900), "phone": (390, 844)}
LINKS = "[...new Set([...document.querySelectorAll('nav a')].map((one) => one.hash).filter(Boolean))]"
QUIET = "new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(true)), 1500))"


def fill(port: int) -> None:
    """Two hours of readings, and one that is garbled."""
    caller = Caller(port, {"Connection": "close"})
    now = int(time.time())
    rows = [
        {"time": (now - 60 * ago) * 1_000_000, "id": one, "pm25": 30 + x + 20 * math.sin(ago / 15 + y)}
        for ago in range(120, 0, -1)
        for one, x, y in SENSORS
    ]
    caller.send("air", rows)
    caller.send(
        "air", [{"time": now * 1_000_000, "id": SENSORS[0][0], "pm25": 2500.0}, {"id": "s1", "pm25": "x"}]
    )
    caller.sql("REPLACE QUERY dense AS SELECT time, id, pm25 FROM air WHERE pm25 BETWEEN 2000 AND 4001")


def take(browser: Browser, address: str, folder: Path) -> int:
    """Take the pictures. Returns how many."""
    browser.size(*FORMS["wide"])
    browser.open(address)
    browser.wait(f"{LINKS}.length > 2")
    pages, count = list(browser.run(LINKS)), 0
    for theme in ("light", "dark"):
        browser.media(prefers_color_scheme=theme, prefers_reduced_motion="reduce")
        for form, size in FORMS.items():
            browser.size(*size, mobile=form == "phone")
            for page in pages:
                browser.open(f"{address}/{page}")
                browser.wait("document.fonts.status === 'loaded' && !!document.querySelector('main')")
                browser.wait("!/Loading|Reading the newest/.test(document.querySelector('main').innerText)")
                browser.run(QUIET)
                browser.picture(folder / f"{page.strip('#/').replace('/', '-')}-{form}-{theme}.png")
                count += 1
    return count


def main() -> None:
    """As the module says."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if len(sys.argv) > 2:
            address = sys.argv[2].rstrip("/")
        else:
            made = stack.enter_context(tempfile.TemporaryDirectory())
            server = stack.enter_context(served(Path(made), SCHEMA))
            fill(server.port)
            address = f"http://127.0.0.1:{server.port}"
        print(take(stack.enter_context(Browser()), address, folder), "pictures in", folder)


if __name__ == "__main__":
    main()
