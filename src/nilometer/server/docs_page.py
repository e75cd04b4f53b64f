"""The page at `/docs`: the routes of the OpenAPI document, as plain HTML. It loads nothing from anywhere."""

from __future__ import annotations

from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font: 14px/1.4 ui-monospace, monospace; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; }
summary { padding: .4rem .7rem; cursor: pointer; }
details > div { padding: .2rem .9rem .7rem; border-top: 1px solid var(--line); }
.method { display: inline-block; min-width: 4.2rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; } td { padding: .2rem .6rem .2rem 0; vertical-align: top; }
pre { background: var(--soft); padding: .6rem; border-radius: 6px; overflow-x: auto; }
"""


def page_of(document: dict[str, Any]) -> str:
    """The page of an OpenAPI document."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            group = (operation.get("tags") or ["other"])[0]
            groups.setdefault(group, []).append(_operation(path, method, operation))
    body = "".join(f"<h2>{escape(group)}</h2>{''.join(operations)}" for group, operations in groups.items())
    info = document["info"]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{escape(info['title'])}</h1><p>{escape(info['description'])}</p>"
        '<p>The same for machines: <a href="/openapi.json">/openapi.json</a>, OpenAPI 3.1.</p>'
        f"{body}</html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    about, *_ = operation.get("description", operation.get("summary", "")).split("\n\n")
    parts = [f"<p>{escape(operation.get('description', ''))}</p>"]
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
    return (
        f'<details><summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code>'
        f" {escape(about.splitlines()[0] if about else '')}</summary><div>{''.join(parts)}</div></details>"
    )
