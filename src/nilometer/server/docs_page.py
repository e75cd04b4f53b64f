"""The page at `/docs`: the routes of the OpenAPI document, as plain HTML. It loads nothing from other hosts: its fonts are
those of the dashboard."""

from __future__ import annotations

import re
from html import escape
from typing import Any

GROUPS = ("streams", "queries", "results", "sensors", "phenomena", "models", "alerts", "decisions")
"""The order of the groups; the others follow."""
NAMED = {"sensorthings": "SensorThings"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; font-src 'self'; img-src 'self'"

_STYLE = """
@font-face { font-family: Inter; font-weight: 100 900; src: url(/assets/inter-latin-wght-normal.woff2) format('woff2'); }
@font-face { font-family: 'JetBrains Mono'; font-weight: 100 800;
  src: url(/assets/jetbrains-mono-latin-wght-normal.woff2) format('woff2'); }
:root { color-scheme: light; --bg: #f4f6f8; --panel: #fff; --ink: #12171e; --muted: #55606f; --line: #e2e6eb; --soft: #eef1f4;
  --accent: #0b6984; --get: #0b6984; --post: #1c7339; --put: #8a5300; --delete: #b3231b; }
@media (prefers-color-scheme: dark) { :root { color-scheme: dark; --bg: #0b0e12; --panel: #12161c; --ink: #e8ecf1;
  --muted: #98a4b3; --line: #212934; --soft: #1a2029; --accent: #52c7e4; --get: #52c7e4; --post: #52d681; --put: #f5b841;
  --delete: #ff8178; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); font: 14px/1.5 Inter, system-ui, sans-serif; }
.page { display: grid; grid-template-columns: 170px minmax(0, 760px); gap: 40px; max-width: 1010px; margin: 0 auto;
  padding: 28px 20px 60px; }
nav { position: sticky; top: 28px; align-self: start; display: flex; flex-direction: column; gap: 2px; }
nav a { padding: 5px 10px; border-radius: 8px; color: var(--muted); text-decoration: none; font-weight: 500; }
nav a:hover { background: var(--soft); color: var(--ink); }
nav a.home { color: var(--accent); margin-bottom: 8px; }
h1 { font-size: 22px; margin: 0 0 6px; } h2 { font-size: 15px; margin: 30px 0 8px; }
p { margin: 6px 0; } .muted, td:nth-child(2) { color: var(--muted); } a { color: var(--accent); }
code { font: 12.5px/1.5 'JetBrains Mono', ui-monospace, monospace; overflow-wrap: anywhere; }
details { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; margin: 6px 0; }
summary { display: grid; grid-template-columns: 58px minmax(0, 1fr) auto; gap: 2px 10px; align-items: baseline; padding: 8px 12px;
  cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 8px; }
summary .about { grid-column: 2 / -1; color: var(--muted); font-size: 13px; }
.method { font-weight: 600; font-size: 12px; color: var(--get); } .POST { color: var(--post); }
.PUT, .PATCH { color: var(--put); } .DELETE { color: var(--delete); }
.role { font-size: 11.5px; font-weight: 500; padding: 1px 8px; border-radius: 99px; background: var(--soft); color: var(--muted); }
details > div { padding: 6px 14px 12px; border-top: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-size: 13px; } td { padding: 4px 12px 4px 0; vertical-align: top; }
@media (max-width: 720px) { .page { grid-template-columns: minmax(0, 1fr); gap: 16px; padding: 16px 12px 40px; }
  nav { position: static; flex-flow: row wrap; } nav a.home { margin: 0; } summary { grid-template-columns: 50px minmax(0, 1fr) auto; } }
"""


def page_of(document: dict[str, Any]) -> str:
    """The page of an OpenAPI document."""
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            group = (operation.get("tags") or ["other"])[0]
            groups.setdefault(group, []).append(_operation(path, method, operation))
    shown = {group: "".join(operations) for group, operations in groups.items() if operations}
    body = "".join(
        f'<h2 id="{escape(group)}">{escape(_title(group))}</h2>{text}' for group, text in shown.items()
    )
    links = "".join(f'<a href="#{escape(group)}">{escape(_title(group))}</a>' for group in shown)
    info = document["info"]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}: the API</title>'
        '<link rel="icon" href="/favicon.svg">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
        f'<div class="page"><nav aria-label="Groups"><a class="home" href="/">The dashboard</a>{links}</nav>'
        f"<main><h1>{escape(info['title'])}: the API</h1><p>{escape(info['description'])}</p>"
        '<p class="muted">The same for machines: <a href="/openapi.json">/openapi.json</a>, OpenAPI 3.1. A label says which '
        "role a token needs.</p>"
        f"{body}</main></div></body></html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    described = operation.get("description", operation.get("summary", ""))
    about, *more = described.split("\n\n")
    parts = [f"<p>{_marked(part)}</p>" for part in (about, *more) if part]
    rows = [
        f"<tr><td><code>{escape(one['name'])}</code></td><td>{escape(one['in'])}</td>"
        f"<td>{escape(one.get('description', one.get('schema', {}).get('description', '')) or '')}</td></tr>"
        for one in operation.get("parameters", ())
    ]
    parts += [f"<table>{''.join(rows)}</table>"] if rows else []
    content = operation.get("requestBody", {}).get("content", {})
    parts += (
        [f"<p>Body: {', '.join(f'<code>{escape(kind)}</code>' for kind in content)}</p>"] if content else []
    )
    answers = operation.get("responses", {}).get("200", {}).get("content", {})
    parts += (
        [f"<p>Answer: {', '.join(f'<code>{escape(kind)}</code>' for kind in answers)}</p>"] if answers else []
    )
    roles = [role for one in operation.get("security", ()) for role in one.get("token", ())]
    chip = f'<span class="role">{escape(roles[0])}</span>' if roles else "<span></span>"
    first = " ".join(about.split()).partition(". ")[0].removesuffix(".")
    return (
        f'<details><summary><span class="method {method.upper()}">{method.upper()}</span><code>{escape(path)}</code>{chip}'
        f'<span class="about">{_marked(first)}</span></summary><div>{"".join(parts)}</div></details>'
    )


def _title(group: str) -> str:
    return NAMED.get(group, group.capitalize())


def _marked(text: str) -> str:
    """Text with its `code`."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
