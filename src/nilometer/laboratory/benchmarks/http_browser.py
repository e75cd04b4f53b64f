"""How long after it was sent a reading stands in a real browser, received and drawn.

The page is the dashboard's page of a standing query, in headless Chromium. In each frame a script looks at the first
row of its table, which is the newest. A second of readings is there once its last sensor stands in that row and the
frame after has begun: then the frame with it was painted. So the delay of its slowest row is the delay of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from nilometer.laboratory.browser import Browser, program

WATCH = r"""(() => {
  window.seen_ = {};
  let drawn = null;
  const look = () => {
    const now = (performance.timeOrigin + performance.now()) / 1000;
    if (drawn != null && !(drawn in window.seen_)) window.seen_[drawn] = now;
    const cells = document.querySelectorAll('.rows tbody tr:first-child td');
    const [id, value] = [1, 2].map((at) => Number(cells[at]?.textContent.replace(/[^\d.]/g, '')));
    drawn = id === LAST ? value : null;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()"""


def browser() -> AbstractContextManager[Browser | None]:
    """A browser; None where Chromium is not installed."""
    return Browser() if program() is not None else nullcontext()


def watch(page: Browser, port: int, query: str, last: int) -> None:
    """Open the page of a query whose rows are (time, id, value). `last`: the last sensor of each second."""
    page.size(1440, 900)
    page.open(f"http://127.0.0.1:{port}/#/queries/{query}")
    page.wait(f"document.querySelector('.detail h2')?.innerText.trim() === '{query}'")
    page.run(WATCH.replace("LAST", str(last)))


def delays(page: Browser, sent: Mapping[int, float]) -> list[float]:
    """For each second that was sent (by its value, the moment), the seconds until all of it was drawn. A second that the
    page has skipped, because a newer one came in the same frame, was drawn with that one; infinite: never."""
    seen = {int(second): at for second, at in page.run("window.seen_").items()}
    found = []
    for second, at in sent.items():
        later = [moment for each, moment in seen.items() if each >= second]
        found.append(min(later) - at if later else float("inf"))
    return found
