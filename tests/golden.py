"""The one reader and rewriter of text tests: blocks of input, `----`, expected output, with `====` lines between them.

A file is checked whole, so that one run shows every difference; with `--rewrite` it is written anew instead, and the
difference is to be read in version control. Lines before the first block that begin with `#` are kept as a heading.

    SELECT depth FORM river
    ----
    expected FROM, found 'FORM'
    ====
    ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SEPARATOR = "===="
DIVIDER = "----"


@dataclass(frozen=True)
class Block:
    """One case of a text test."""

    input: str
    expected: str
    line: int


@dataclass(frozen=True)
class Golden:
    """A text test: its heading and its cases."""

    path: Path
    heading: str
    blocks: tuple[Block, ...]

    def check(self, answer: Callable[[str], str], *, rewrite: bool = False) -> None:
        """Compare every block with what `answer` makes of its input, or write the answers into the file."""
        answers = [answer(block.input) for block in self.blocks]
        if rewrite:
            cases = [
                f"{block.input}\n{DIVIDER}\n{given}\n"
                for block, given in zip(self.blocks, answers, strict=True)
            ]
            self.path.write_text(self.heading + f"{SEPARATOR}\n".join(cases), encoding="utf-8")
            return
        wrong = [
            f"{self.path.name}:{block.line}\n{block.input}\n--- expected\n{block.expected}\n--- got\n{given}"
            for block, given in zip(self.blocks, answers, strict=True)
            if block.expected != given
        ]
        assert not wrong, "\n\n".join(
            [*wrong, f"{len(wrong)} of {len(answers)} differ; --rewrite writes the answers"]
        )


def read(path: Path) -> Golden:
    """The blocks of a file; one without a divider has no expected output yet."""
    lines = path.read_text(encoding="utf-8").split("\n")
    first = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    heading = "".join(line + "\n" for line in lines[:first])
    blocks: list[Block] = []
    current: list[str] = []
    start = first + 1
    for number, line in enumerate([*lines[first:], SEPARATOR], start=first + 1):
        if line != SEPARATOR:
            current.append(line)
            continue
        divider = current.index(DIVIDER) if DIVIDER in current else len(current)
        given = "\n".join(current[:divider]).strip("\n")
        if given:
            blocks.append(Block(given, "\n".join(current[divider + 1 :]).strip("\n"), start))
        current, start = [], number + 1
    return Golden(path, heading, tuple(blocks))
