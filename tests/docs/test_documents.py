"""Documents that cannot lie: the README's example runs, ARCHITECTURE.md's plans are the program's own."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from textwrap import wrap

import pytest

import nilometer
import nilometer.engine
from nilometer.algebra.table_functions import TABLE_FUNCTIONS
from nilometer.catalog import functions
from nilometer.engine.placing import PLACEMENT_STAGES
from nilometer.laboratory.reproductions.snee_forms import QUERY, SCHEMA
from nilometer.optimizer import RULES

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- life of a query: begin -->", "<!-- life of a query: end -->"


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", document, flags=re.DOTALL)


def test_the_readme_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code, expected = blocks(readme, "python")[0], blocks(readme, "text")[0]
    assert len(code.strip().splitlines()) <= 12
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == expected


def life_of_a_query() -> str:
    database = nilometer.connect()
    database.execute(SCHEMA)
    query = database.sql(QUERY)
    parts = ["", "```sql", QUERY, "```", ""]
    for stage, says in (
        (
            "logical",
            "`plan.bind`: names resolved, types checked; product, selection, projection (SNEE section 4.3).",
        ),
        (
            "optimized",
            "`optimizer`: the acquisition selects, unused columns are gone, the smaller side is left.",
        ),
        (
            "physical",
            "`optimizer.choose`: algorithms; RSTREAM is in DELIVER, `[NOW]` needs no operator (SNEE Fig. 8).",
        ),
    ):
        parts += [f"**{stage}** - {says}", "", "```text", query.explain(stage), "```", ""]
    return "\n".join(parts)


def test_the_life_of_a_query_is_what_the_program_prints(rewrite: bool) -> None:
    path = ROOT / "ARCHITECTURE.md"
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    found, after = rest.split(END)
    expected = life_of_a_query()
    if rewrite:
        path.write_text(before + BEGIN + expected + END + after, encoding="utf-8")
        return
    assert found == expected, "run pytest tests/docs --rewrite and read the diff"


def test_the_architecture_stays_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 200


def anchors(document: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_in_documents_lead_somewhere() -> None:
    documents = {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")}
    documents -= {ROOT / "docs" / "rules.md"}  # it is generated, and its laws look like links
    for document in sorted(documents):
        links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", document.read_text(encoding="utf-8"))
        for target, anchor in links:
            if "://" not in target:
                found = document.parent / target if target else document
                assert found.exists(), f"{document.name} links to {target}"
                if anchor:
                    assert anchor in anchors(found), f"{document.name} links to {target}#{anchor}"


def functions_table() -> str:
    lines = ["", "| function | gives | example |", "|---|---|---|"]
    for name in functions.names():
        signature = functions.resolve(name)
        assert signature is not None
        if signature.name == name:
            lines.append(f"| `{signature.spelled}` | {signature.description} | `{signature.example}` |")
    return "\n".join([*lines, ""])


def table_functions_table() -> str:
    lines = ["", "| function | gives | options |", "|---|---|---|"]
    for function in TABLE_FUNCTIONS.values():
        options = "; ".join(
            f"`{f'{option.word} {option.example}'.strip()}` {option.meaning}"
            for option in (function if function.defined is None else function.own).all_options
        )
        if function.defined is not None:
            options = "; ".join(filter(None, ("those of [a definition](phenomena.md#a-definition)", options)))
        lines.append(f"| `{function.example}` | {function.description} | {options} |")
    return "\n".join([*lines, ""])


def rules_document() -> str:
    lines = [
        "# The optimizer's rules",
        "",
        "A test generates this page from the docstrings of the rules. The phases run in this order, and so do the",
        "rules of a phase. Each rule is one file in `src/nilometer/optimizer/rules/`. `before => after` is the rewrite",
        "it makes; a rule never changes an answer. `./nilo explain --verbose` shows a plan after each rule.",
        "",
    ]
    for phase in RULES:
        lines += [f"## Phase {phase.name}: {phase.reason}", ""]
        for rule in phase.rules:
            law = inspect.getdoc(rule) or ""
            assert law, f"{rule.__name__} has no docstring"
            lines += [f"### {rule.__name__}", ""]
            for paragraph in law.split("\n\n"):
                text = " ".join(paragraph.split())
                lines += [*wrap(text, 110, break_long_words=False, break_on_hyphens=False), ""]
    return "\n".join(lines)


def test_every_function_is_documented(rewrite: bool) -> None:
    path = ROOT / "docs" / "language.md"
    before, rest = path.read_text(encoding="utf-8").split("<!-- functions: begin -->")
    found, after = rest.split("<!-- functions: end -->")
    if rewrite:
        text = f"{before}<!-- functions: begin -->{functions_table()}<!-- functions: end -->{after}"
        path.write_text(text, encoding="utf-8")
        return
    assert found == functions_table(), "run pytest tests/docs --rewrite and read the diff"


def test_every_table_function_is_documented(rewrite: bool) -> None:
    path = ROOT / "docs" / "language.md"
    begin, end = "<!-- table functions: begin -->", "<!-- table functions: end -->"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    found, after = rest.split(end)
    if rewrite:
        path.write_text(f"{before}{begin}{table_functions_table()}{end}{after}", encoding="utf-8")
        return
    assert found == table_functions_table(), "run pytest tests/docs --rewrite and read the diff"


def test_every_rule_is_documented(rewrite: bool) -> None:
    path = ROOT / "docs" / "rules.md"
    if rewrite:
        path.write_text(rules_document(), encoding="utf-8")
        return
    assert path.read_text(encoding="utf-8") == rules_document(), (
        "run pytest tests/docs --rewrite and read the diff"
    )


def test_the_examples_of_the_language_bind_and_explain(tmp_path: Path) -> None:
    (tmp_path / "limits.csv").write_text("site,maximum\nnorth,50\n")
    declarations, *examples = blocks((ROOT / "docs" / "language.md").read_text(encoding="utf-8"), "sql")
    database = nilometer.connect()
    database.data.base = tmp_path
    database.execute(declarations)
    for example in examples:
        for query in filter(None, database.execute(example)):  # a declaration gives nothing
            for stage in nilometer.engine.STAGES:
                if stage not in PLACEMENT_STAGES:  # those need a network of motes
                    assert query.explain(stage)
            assert list(query.run("reference")) == list(query.run("gateway"))


def test_explain_imports_nothing_heavy() -> None:
    motes = ROOT / "tests" / "catalog" / "data" / "snee.toml"
    network = f"CREATE NETWORK brook FROM '{motes}'"
    code = (
        "import sys, nilometer\n"
        "db = nilometer.connect()\n"
        "db.execute('CREATE STREAM s (x INT) PUSHED')\n"
        "db.sql('SELECT AVG(x) FROM s [RANGE 1 HOUR]').explain('physical')\n"
        "db.execute('CREATE STREAM river (depth INT) SENSED EVERY 15 MINUTES')\n"
        f"db.execute({network!r})\n"
        "assert 'F0' in db.sql('SELECT AVG(depth) FROM river [NOW]').explain('agenda')\n"
        "heavy = {'pyspark', 'pyarrow', 'numba', 'pandas', 'polars', 'sqlalchemy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
