"""A working nescc. Debian's amd64 package ends every compilation with an internal error: its `nesc1` was compiled to use aligned
moves on memory that is aligned to 8 bytes only. So the tests make a private copy in which those moves are unaligned."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

HELPERS = Path("/usr/share/nescc")
COMPILERS = (Path("/usr/lib/x86_64-linux-gnu/ncc/nesc1"), Path("/usr/lib/ncc/nesc1"))

UNALIGNED = {0x28: 0x10, 0x29: 0x11}
"""movaps and movapd, load and store, to movups and movupd: the opcode's second byte."""


def installed() -> bool:
    """Whether there is a nescc, and what its copy needs."""
    tools = all(shutil.which(tool) for tool in ("nescc", "objdump", "readelf", "avr-gcc"))
    return tools and HELPERS.is_dir() and any(path.exists() for path in COMPILERS)


def working_copy(directory: Path) -> Path:
    """The path of a nescc that works."""
    parts = directory / "ncc"
    shutil.copytree(HELPERS, parts, symlinks=False)
    compiler = next(path for path in COMPILERS if path.exists())
    made = parts / "nesc1"
    made.write_bytes(_with_unaligned_moves(compiler))
    script = directory / "nescc"
    text = Path(shutil.which("nescc") or "nescc").read_text("utf-8")
    script.write_text(re.sub(r"(?m)^\$NCDIR = .*$", f'$NCDIR = "{parts}";', text), "utf-8")
    for program in (made, script, *parts.glob("nesc-*")):
        program.chmod(0o755)
    return script


def _with_unaligned_moves(compiler: Path) -> bytes:
    code = bytearray(compiler.read_bytes())
    sections = subprocess.run(
        ["readelf", "-SW", str(compiler)], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"\.text\s+PROGBITS\s+([0-9a-f]+)\s+([0-9a-f]+)", sections)
    assert found is not None
    address, offset = (int(text, 16) for text in found.groups())
    listing = subprocess.run(
        ["objdump", "-d", "-j", ".text", str(compiler)], capture_output=True, text=True, check=True
    )
    move = re.compile(r"\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(movaps|movapd|movdqa)\s.*\(")
    for line in listing.stdout.splitlines():
        if (match := move.match(line)) is None:
            continue
        raw, at = bytes.fromhex(match[2]), int(match[1], 16) - address + offset
        if match[3] == "movdqa":
            code[at + raw.index(0x66)] = 0xF3
        else:
            place = raw.index(0x0F) + 1
            code[at + place] = UNALIGNED[raw[place]]
    return bytes(code)
