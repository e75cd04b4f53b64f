"""The dashboard in a real browser: one Chromium and one server for all of these."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nilometer.laboratory.browser import Browser
from nilometer.live.peers.peering import PeerOptions
from nilometer.server.http_server import HttpServer
from nilometer.server.settings import HttpSettings
from nilometer.server.tokens import Role, Tokens
from nilometer.types import format_time
from server.serving import Caller, served

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

AXE = gzip.decompress((Path(__file__).parent / "axe.min.js.gz").read_bytes()).decode()
DAY, MINUTE = 86_400, 60
CONTROL = 2
"""The key, in the protocol."""
SENSORS = [(f"s{number}", 10.0 * (number % 4), 10.0 * (number // 4)) for number in range(12)]
CLOUD = ("s0", "s1", "s4", "s5")
"""Neighbours that read alike, for a minute of yesterday."""
STREAM = (
    "CREATE STREAM air (id STRING, pm25 FLOAT UNIT 'ug/m3') PUSHED KEY (id, time) EXPECT EVERY 1 MINUTE;\n"
)
SCHEMA = (
    STREAM
    + "".join(f"CREATE SENSOR '{one}' OF air AT ({x}, {y});\n" for one, x, y in SENSORS)
    + """
CREATE QUERY everything STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air;
CREATE QUERY dense AS SELECT time, id, pm25 FROM air WHERE pm25 BETWEEN 2000 AND 4000;
CREATE PHENOMENON cloud ON air.pm25 ABOVE 5000 RANGE 3 MINUTES SLIDE 1 MINUTE NEIGHBOURS WITHIN 15 MEMBERS 3;
CREATE QUERY clouds STARTING AT BEGINNING AS SELECT * FROM PHENOMENA(cloud);
CREATE ALERT thick WHEN (SELECT time, id, pm25 FROM air WHERE pm25 BETWEEN 2000 AND 4000)
  THEN 'mailto:ops@example.org' GROUP BY id;
CREATE DECISION act ON dense CHOOSE ('close the window' WHEN pm25 < 3000, 'leave' OTHERWISE);
"""
)


class Site:
    """A server with a field, and a browser that looks at it."""

    def __init__(self, server: HttpServer, browser: Browser) -> None:
        self.server = server
        self.browser = browser
        self.now = int(time.time()) // MINUTE * MINUTE

    @property
    def caller(self) -> Caller:
        """A client: a new one, because the server closes connections that wait for long."""
        return Caller(self.server.port, {"Connection": "close"})

    def read(self, seconds_ago: int, value: float, only: str | None = None) -> None:
        """Every sensor, or one, sends a value."""
        moment = format_time((self.now - seconds_ago) * 1_000_000)
        rows = [{"time": moment, "id": one, "pm25": value} for one, _, _ in SENSORS if only in (None, one)]
        assert self.caller.send("air", rows)["garbled"] == 0

    def go(self, page: str, ready: str) -> None:
        """Open a page, and wait until it shows what the expression looks for."""
        self.browser.errors.clear()
        self.browser.open(f"http://127.0.0.1:{self.server.port}/#/{page}")
        self.browser.wait(ready)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("field"), SCHEMA) as server, Browser() as browser:
        found = Site(server, browser)
        for minutes in range(10):
            found.read(DAY - minutes * MINUTE, 10.0 + minutes)
        for one in CLOUD:
            found.read(DAY - 20 * MINUTE, 6000.0, one)
        found.read(2 * MINUTE, 42.0)
        browser.size(1440, 900)
        yield found


@pytest.fixture(autouse=True)
def clean(site: Site) -> Iterator[None]:
    site.browser.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
    site.browser.size(1440, 900)
    yield
    site.browser.run("sessionStorage.clear(); localStorage.clear()")
    assert site.browser.errors == [], "the page's scripts or its policy complain"


MAP = "Number(document.querySelector('.map canvas')?.dataset.drawn) > 0"
TEXT = "(document.querySelector('main')?.innerText ?? '')"


def contains(text: str) -> str:
    return f"{TEXT}.includes({json.dumps(text)})"


def write(site: Site, sql: str) -> None:
    """Replace what is in the editor."""
    # A newcomer is given a query to begin with.
    site.browser.wait(
        "!!document.querySelector('.cm-content') && !!sessionStorage.getItem('nilometer-draft')"
    )
    site.browser.run("document.querySelector('.cm-content').focus()")
    site.browser.key("a", "KeyA", CONTROL)
    # Text that replaces a selection would get a style of its own by the browser, of which the policy complains.
    site.browser.key("Delete")
    site.browser.type(sql)
    site.browser.wait(f"sessionStorage.getItem('nilometer-draft') === {json.dumps(sql)}")


def test_a_query_is_installed_and_its_rows_arrive(site: Site) -> None:
    site.go("editor", "!!document.querySelector('.cm-content')")
    write(site, "SELECT time, id, pm25 FROM air WHERE pm25 > 900")
    site.browser.click("Install as")
    site.browser.run("document.querySelector('input[placeholder=name]').focus()")
    site.browser.type("hot")
    site.browser.click("Install", "document.querySelector('form')")
    site.browser.wait("location.hash === '#/queries/hot'")
    site.browser.wait(contains("No answer yet"))
    site.read(MINUTE, 950.5, "s3")
    site.browser.wait(contains("950.5"))
    site.read(0, 951.5, "s4")
    site.browser.wait("document.querySelector('[data-rows]')?.dataset.rows === '2'")
    site.browser.wait("!!document.querySelector('.chart canvas')")
    site.browser.run("document.querySelector('.detail summary').click()")
    site.browser.wait("!!document.querySelector('[aria-label=\"Versions of hot\"] .chip.ok')")
    # It is paused, resumed, and dropped only after a question.
    site.browser.click("Pause hot")
    site.browser.click("Resume hot")
    site.browser.click("Drop hot")
    site.browser.wait("document.querySelector('dialog').open")
    site.browser.click("Cancel", "document.querySelector('dialog')")
    assert "hot" in [query["name"] for query in site.caller.get("/api/v1/queries")["items"]]
    site.browser.click("Drop hot")
    site.browser.click("Drop the query")
    site.browser.wait("!document.querySelector('main table').innerText.includes('hot')")


def test_the_map_changes_as_readings_come(site: Site) -> None:
    site.go("field", MAP)
    site.browser.wait(contains("12 sensors"))
    before = site.browser.run("document.querySelector('.map canvas').toDataURL()")
    site.read(MINUTE, 700.0, "s5")
    site.browser.wait(f"document.querySelector('.map canvas').toDataURL() !== {json.dumps(before)}")
    # By keyboard: the first arrow selects a sensor, and its details say what it sent.
    site.browser.run("document.querySelector('.map').focus()")
    site.browser.key("ArrowRight")
    site.browser.wait("!!document.querySelector('aside h2')")
    first = site.browser.run("document.querySelector('aside h2').innerText")
    site.browser.key("ArrowUp")
    site.browser.wait(f"document.querySelector('aside h2').innerText !== {json.dumps(first)}")
    site.browser.wait("!!document.querySelector('aside .chart canvas')")
    site.browser.key("Escape")
    site.browser.wait("!document.querySelector('aside')")
    site.browser.click("List")
    site.browser.wait("document.querySelector('main ul').innerText.includes('700')")


def test_the_place_of_an_error_is_marked(site: Site) -> None:
    site.go("editor", "!!document.querySelector('.cm-content')")
    write(site, "SELECT id, pm52\nFROM air")
    site.browser.click("Run")
    site.browser.wait("document.querySelector('.cm-lintRange-error')?.innerText === 'pm52'")
    shown = site.browser.wait("document.querySelector('.problem')?.innerText")
    assert "^^^^" in shown
    assert "pm25" in shown, "the hint"
    write(site, "SELECT id, pm25\nFROM air")
    site.browser.wait("!document.querySelector('.cm-lintRange-error')")


def test_a_plan_is_a_picture(site: Site) -> None:
    site.go("editor", "!!document.querySelector('.cm-content')")
    write(site, "SELECT AVG(pm25) AS mean FROM air [RANGE 1 HOUR] WHERE pm25 > 3")
    site.browser.click("Explain")
    site.browser.wait("document.querySelector('[role=tabpanel] svg')?.innerHTML.includes('ACQUIRE')")
    boxes = site.browser.run("document.querySelectorAll('[role=tabpanel] svg g').length")
    plan = site.caller("POST", "/api/v1/explain", {"sql": "SELECT AVG(pm25) AS mean FROM air [RANGE 1 HOUR] WHERE pm25 > 3", "stage": "physical"}).json  # fmt: skip
    assert boxes == len(plan["text"].splitlines())
    assert (
        site.browser.run("document.querySelector('[role=tabpanel] svg .sensors text').textContent")
        == "SP_ACQUIRE"
    )
    site.browser.click("logical")
    site.browser.wait("document.querySelector('[role=tabpanel] svg')?.innerHTML.includes('RSTREAM')")


def test_a_live_query_shows_rows_and_a_run_shows_all(site: Site) -> None:
    site.go("editor", "!!document.querySelector('.cm-content')")
    write(site, "SELECT time, id, pm25 FROM air WHERE pm25 < 0")
    site.browser.click("Live")
    site.browser.wait(contains("Waiting for rows"))
    # The query begins when the server has installed it; a reading before that is not one of its rows.
    deadline, value = time.monotonic() + 30, -1.0
    while not site.browser.run(contains("rows since you asked")):
        assert time.monotonic() < deadline
        value -= 1
        site.read(-int(value), value, "s7")
        time.sleep(0.1)
    site.browser.click("Stop")
    write(site, "SELECT COUNT(*) AS n FROM air [RANGE 30 DAYS SLIDE 30 DAYS]")
    site.browser.click("Run")
    site.browser.wait(contains("over the data at hand"))


def test_yesterday_is_replayed(site: Site) -> None:
    site.go("field", MAP)
    site.browser.click("List")
    site.browser.wait("!!document.querySelector('.bar input')")

    def move(share: float) -> None:
        site.browser.run(
            f"(() => {{ const bar = document.querySelector('.bar input'); bar.value = {share} * bar.max; "
            "bar.dispatchEvent(new Event('input', { bubbles: true })); })()"
        )

    since = site.caller.get("/api/v1/streams/air/span")
    day = (since["until"] - since["since"]) / 1e6
    move(4.5 * MINUTE / day)
    site.browser.wait("document.querySelector('main ul').innerText.includes('14 ug/m3')")
    move(2.5 * MINUTE / day)
    site.browser.wait("document.querySelector('main ul').innerText.includes('12 ug/m3')")
    # The answers of a query are as they were, too.
    site.browser.run("location.hash = '#/queries/everything'")
    site.browser.wait(contains("as it was"))
    site.browser.wait("document.querySelector('[data-rows]')?.dataset.rows === '36'")
    site.browser.click("Live")
    site.browser.wait("Number(document.querySelector('[data-rows]')?.dataset.rows) > 36")


def test_a_dead_letter_is_mended(site: Site) -> None:
    reply = site.caller("POST", "/api/v1/streams/air/readings", {"id": "s1", "pm25": "thick"})
    assert reply.status == 422
    site.go("streams", contains("the books balance"))
    site.browser.wait("!!document.querySelector('[aria-label=\"Dead letters\"] .head')")
    site.browser.run("document.querySelector('[aria-label=\"Dead letters\"] .head').click()")
    site.browser.wait("document.querySelector('textarea')?.value.includes('thick')")
    site.browser.click("Submit again")
    site.browser.wait(contains("still garbled"))
    mended = json.dumps({"id": "s1", "pm25": 123.5, "time": format_time((site.now - 30) * 1_000_000)})
    site.browser.run(
        "document.querySelector('textarea').focus(); document.querySelector('textarea').select()"
    )
    site.browser.type(mended)
    site.browser.click("Submit again")
    site.browser.wait("document.querySelector('.said').innerText.includes('1 reading is in the log of air')")
    found = site.caller.get("/api/v1/field?stream=air")
    assert found["values"]["pm25"][found["id"].index("s1")] == 123.5


def test_a_phenomenon_is_a_region_of_the_map(site: Site) -> None:
    site.go("field", MAP)
    site.browser.wait("!!document.querySelector('[data-regions]') && !!document.querySelector('.bar input')")
    found = site.caller.get("/api/v1/queries/clouds/results")["rows"]
    assert [row["kind"] for row in found] == ["APPEAR", "DISAPPEAR"]
    span = site.caller.get("/api/v1/streams/air/span")
    seen = (site.now - DAY + 21 * MINUTE - span["since"] / 1e6) / ((span["until"] - span["since"]) / 1e6)
    site.browser.run(
        f"(() => {{ const bar = document.querySelector('.bar input'); bar.value = {seen} * bar.max; "
        "bar.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )
    site.browser.wait("document.querySelector('[data-regions]').dataset.regions === '1'")
    site.browser.click("Live")
    site.browser.wait("document.querySelector('[data-regions]').dataset.regions === '0'")


def test_people_have_the_last_word(site: Site) -> None:
    site.read(-1, 2500.0, "s8")
    site.read(-2, 3500.0, "s9")
    site.go("alerts", contains("firing"))
    site.browser.wait(contains("id s8"))
    site.browser.click("Acknowledge thick")
    site.browser.wait(contains("somebody takes care"))
    site.browser.click("Silence 2 h: thick, id s8")
    site.browser.wait("!!document.querySelector('[aria-label=\"End silence: thick, id s8\"]')")
    assert site.browser.run("!!document.querySelector('[aria-label=\"Silence 2 h: thick\"]')")
    site.browser.click("End silence: thick, id s8")
    site.browser.wait("!document.querySelector('[aria-label=\"End silence: thick, id s8\"]')")
    site.browser.click("Silence 2 h: thick")
    site.browser.wait(contains("silenced until"))
    site.browser.click("Messages")
    site.browser.wait("!!document.querySelector('[aria-label=\"Messages of thick\"] table')")
    site.browser.click("Acknowledge: leave")
    site.browser.wait(contains("acknowledged by"))
    site.browser.click("Overrule: close the window")
    site.browser.wait("!!document.querySelector('form input')")
    site.browser.run("document.querySelector('form input').focus()")
    site.browser.type("go outside")
    site.browser.click("Overrule", "document.querySelector('form')")
    site.browser.wait(contains("go outside instead, by"))


def axe(browser: Browser) -> list[dict[str, Any]]:
    """What axe finds that is serious or critical."""
    browser.run("window.axe === undefined && (() => { " + AXE + " })()")
    found = json.loads(
        browser.run(
            "axe.run(document, { resultTypes: ['violations'] }).then((found) => JSON.stringify(found.violations.map("
            "(one) => ({ id: one.id, impact: one.impact, nodes: one.nodes.map((node) => node.html + ' ' + "
            "node.failureSummary).slice(0, 3) }))))"
        )
    )
    return [one for one in found if one["impact"] in ("serious", "critical")]


PAGES = {
    "field": MAP,
    "queries/everything": "!!document.querySelector('[data-rows]')",
    "editor": "!!document.querySelector('.cm-content')",
    "streams": contains("the books balance"),
    "alerts": contains("close the window"),
    "peers": contains("This gateway has no peers"),
}


@pytest.mark.parametrize("page", PAGES)
def test_everybody_can_use_it(site: Site, page: str) -> None:
    """axe finds nothing serious in light and dark, and nothing is wider than a phone."""
    for theme, width in (("light", 1440), ("dark", 390)):
        site.browser.media(prefers_color_scheme=theme)
        site.browser.size(width, 900, mobile=width < 720)
        site.go(page, PAGES[page])
        assert site.browser.run("document.documentElement.dataset.theme") == theme
        if page == "editor":
            write(site, "SELECT id, pm25 FROM air")
            site.browser.click("Explain")
            site.browser.wait("!!document.querySelector('[role=tabpanel] svg')")
        assert axe(site.browser) == []
    assert site.browser.run("document.documentElement.scrollWidth") <= 390
    beyond = "document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth"
    assert site.browser.run(beyond) <= 0
    if page.startswith("queries"):
        table = "document.querySelector('[aria-label=\"Standing queries\"]')"
        assert site.browser.run(f"{table}.scrollWidth - {table}.clientWidth") <= 0


def test_the_ring_of_gateways(site: Site, tmp_path: Path) -> None:
    """Two real gateways: both are on the ring with their arcs, and the streams of both have homes."""
    key = tmp_path / "ring.key"
    key.write_text("a key that both gateways share")
    key.chmod(0o600)
    places = [f"127.0.0.1:{port}" for port in free_ports(2)]
    roof = PeerOptions(places[0], None, key, "roof")
    yard = PeerOptions(places[1], places[0], key, "yard")
    with (
        served(tmp_path / "roof", "CREATE STREAM roof (x FLOAT) PUSHED;", peer=roof) as server,
        served(tmp_path / "yard", "CREATE STREAM yard (x FLOAT) PUSHED;", peer=yard),
    ):
        for theme, width in (("dark", 390), ("light", 1440)):
            site.browser.media(prefers_color_scheme=theme)
            site.browser.size(width, 900, mobile=width < 720)
            site.browser.open(f"http://127.0.0.1:{server.port}/#/peers")
            ring = "document.querySelector('[aria-label=Ring] svg')"
            site.browser.wait(f"{ring}?.querySelectorAll('.arc').length === 2")
            site.browser.wait(contains(places[1]))
            assert axe(site.browser) == []
            assert site.browser.run("document.documentElement.scrollWidth") <= width
        assert "roof (this one), member" in site.browser.run(f"{ring}.getAttribute('aria-label')")


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody has now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def test_the_theme_can_be_chosen(site: Site) -> None:
    site.go("field", MAP)
    site.browser.click("Use dark colours")
    assert site.browser.run("document.documentElement.dataset.theme") == "dark"
    site.go("field", MAP)
    assert site.browser.run("document.documentElement.dataset.theme") == "dark", "it is remembered"


def test_a_server_that_needs_a_token_asks_for_it(site: Site, tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    secret = Tokens(tmp_path).create("me", Role.READ)
    with served(tmp_path, settings=HttpSettings("0.0.0.0", 0)) as server:
        site.browser.open(f"http://127.0.0.1:{server.port}/")
        site.browser.wait("document.querySelector('dialog')?.open")
        assert axe(site.browser) == []
        site.browser.run("document.querySelector('input[type=password]').focus()")
        site.browser.type(secret)
        site.browser.click("Use it")
        site.browser.wait(contains("12 sensors"))
        site.browser.run("location.hash = '#/queries/everything'")
        site.browser.wait("document.querySelector('main').innerText.includes('live')")
        # The token may read; to pause is refused, in words.
        site.browser.click("Pause everything")
        site.browser.wait("document.querySelector('.said').innerText.includes(\"needs the role 'admin'\")")
        assert secret not in site.browser.run("document.documentElement.outerHTML + location.href")
        assert site.browser.run("JSON.stringify(localStorage)") == "{}"
        site.browser.run("sessionStorage.clear()")
        site.browser.open("about:blank")
    site.go("field", MAP)
