"""The compilers: avr-gcc for motes, and the machine's own C compiler for the emulator, which is built once
and kept.

All tools are Debian packages: gcc-avr, avr-libc and binutils-avr to build; libsimavr-dev, libelf-dev and a C
compiler to emulate.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from nilometer.errors import InternalError, ResourceError

MISTAKES = (
    "array-bounds",
    "implicit-function-declaration",
    "incompatible-pointer-types",
    "int-conversion",
    "maybe-uninitialized",
    "overflow",
    "parentheses",
    "return-type",
    "sign-compare",
    "uninitialized",
)
"""The warnings that would show a mistake of ours. Others can come from a valid query: a reading whose value
does not matter (COUNT(rain)), a condition that always holds (rain < 70000, rain <= rain + 2)."""

FLAGS = (
    "-mmcu=atmega128",
    "-DF_CPU=7372800UL",
    "-Os",
    "-std=gnu99",
    "-Wall",
    "-Wextra",
    *(f"-Werror={mistake}" for mistake in MISTAKES),
    "-fno-strict-aliasing",
    "-ffunction-sections",
    "-fdata-sections",
    "-mcall-prologues",
    # This pass of avr-gcc 5.4 may assume that a register still holds a constant that a 32-bit addition has overwritten. It
    # saves less than 1 % of flash.
    "-fdisable-rtl-postreload",
    "-Wl,--gc-sections,--undefined=_mmcu,--section-start=.mmcu=0x910000",
)
"""The linker leaves out unused functions of the runtime, so that a node gets only the code it needs."""

FLASH = 128 * 1024
RAM = 4096


@dataclass(frozen=True)
class Built:
    """A program as linked: bytes of flash and of static RAM."""

    elf: Path
    flash: int
    ram: int


def build(source: Path) -> Built:
    """Compile one program; the ELF file is written beside it."""
    elf = source.with_suffix(".elf")
    _run([_tool("avr-gcc", "gcc-avr avr-libc"), *FLAGS, str(source), "-o", str(elf), "-lm"], f"{source.name}")
    listing = _run([_tool("avr-size", "binutils-avr"), "-A", str(elf)], elf.name)
    sizes = {
        parts[0]: int(parts[1])
        for line in listing.splitlines()
        if len(parts := line.split()) == 3 and parts[1].isdigit()
    }
    text, data, bss = (sizes.get(f".{name}", 0) for name in ("text", "data", "bss"))
    return Built(elf, text + data, data + bss)


def build_all(sources: list[Path]) -> list[Built]:
    """Compile several programs."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(build, sources))


def emulator() -> Path:
    """The emulator's program, compiled at its first use into the user's cache directory."""
    source = (files("nilometer.sensornet.motes") / "emulator" / "harness.c").read_text("utf-8")
    name = f"motes-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    program = cache_directory() / name
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        text, made = Path(scratch) / "harness.c", Path(scratch) / name
        text.write_text(source, "utf-8")
        compiler = os.environ.get("CC") or _tool("cc", "gcc")
        _run([compiler, "-O2", "-std=gnu99", str(text), "-o", str(made), "-lsimavr", "-lelf"], "the emulator")
        made.replace(program)  # if two first uses run at once, both make the same file
    return program


def missing_tools() -> str | None:
    """The Debian packages that are missing to build and emulate motes; None if all are there."""
    needed = {"avr-gcc": "gcc-avr avr-libc", "avr-size": "binutils-avr", "cc": "gcc"}
    missing = [packages for tool, packages in needed.items() if shutil.which(tool) is None]
    if not any(Path(root, "simavr", "sim_avr.h").exists() for root in ("/usr/include", "/usr/local/include")):
        missing.append("libsimavr-dev libelf-dev")
    return " ".join(missing) or None


def cache_directory() -> Path:
    """The directory of compiled helpers."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nilometer"


def _tool(name: str, packages: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ResourceError(f"{name} is not installed", hint=f"on Debian: apt install {packages}")
    return found


def _run(command: list[str], what: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = done.stderr.strip()
        too_much = [line for line in errors.splitlines() if "region `" in line or "is too large" in line]
        if too_much:
            raise ResourceError(
                f"{what} does not fit a mote",
                detail=too_much[0].strip(),
                hint="ask for a smaller buffering factor or an earlier delivery, so that less has to be kept",
            )
        if "simavr/" in errors or "-lsimavr" in errors or "-lelf" in errors:
            raise ResourceError(
                "the emulator cannot be compiled",
                detail=errors.splitlines()[0],
                hint="on Debian: apt install libsimavr-dev libelf-dev",
            )
        raise InternalError(f"{Path(command[0]).name} refused {what}", detail=errors[-2000:])
    return done.stdout
