"""The built dashboard is what its sources say, without npm: the build recorded the digest of every file."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from server.serving import Caller

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "dashboard"
BUILT = ROOT / "src" / "nilometer" / "server" / "pages"
MOST = 800_000
"""The most bytes of all built files: a modest page stays one."""


def digests(root: Path, paths: list[Path]) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)
    }


def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BUILT / "build.json").read_text())
    return found


def test_the_sources_are_those_that_were_built() -> None:
    single = ["index.html", "package.json", "package-lock.json", "record.js", "vite.config.js"]
    paths = [SOURCES / name for name in single]
    paths += [
        path for folder in ("src", "public") for path in (SOURCES / folder).rglob("*") if path.is_file()
    ]
    assert digests(SOURCES, paths) == record()["sources"], "build again: cd dashboard; npm ci; npm run build"


def test_the_built_files_were_not_changed_by_hand() -> None:
    paths = [path for path in BUILT.rglob("*") if path.is_file() and path.name != "build.json"]
    assert digests(BUILT, paths) == record()["files"], "build again: cd dashboard; npm ci; npm run build"
    assert sum(path.stat().st_size for path in paths) < MOST


def test_the_build_asks_no_other_host_and_has_no_script_in_the_page() -> None:
    page = (BUILT / "index.html").read_text()
    assert re.findall(r"<script[^>]*>(.*?)</script>", page, re.S) == [""]
    assert " style=" not in page
    # An address may stand in the code, as a namespace or in a message; nothing may be loaded from one.
    for path in BUILT.rglob("*"):
        if path.suffix in (".html", ".css"):
            assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?https?:", path.read_text()), path


def test_the_page_has_a_strict_policy_and_a_nonce_of_its_own(caller: Caller) -> None:
    first, second = caller("GET", "/"), caller("GET", "/")
    assert first.status == 200
    policy = first.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; connect-src 'self';")
    assert "unsafe" not in policy
    nonce = re.search(r"nonce-([\w-]+)", policy)
    assert nonce is not None
    assert nonce[1].encode() in first.body
    assert nonce[1] not in second.headers["content-security-policy"]


def test_files_are_asked_for_again_only_when_they_change(caller: Caller) -> None:
    script = caller("GET", "/assets/dashboard.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    again = caller("GET", "/assets/dashboard.js", If_None_Match=script.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    for name in ("nothing.js", "..%2findex.html", "%2e%2e/settings.py", "build.json"):
        assert caller("GET", f"/assets/{name}").status == 404
