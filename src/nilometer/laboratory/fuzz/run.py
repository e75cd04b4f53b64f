"""Fuzzes a target for a while: by mutations of the corpus from a seed, or by atheris, guided by coverage.

A crash is an exception that is not ours, or an input that takes longer than `SLOW` seconds.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from nilometer.errors import InternalError, NilometerError, ResourceError
from nilometer.laboratory.fuzz.targets import Target

SLOW = 10.0
LONGEST = 4_096


@dataclass
class Fuzzed:
    """`crashes` are inputs by the text of what they raised; one input for each text."""

    tried: int = 0
    crashes: dict[str, bytes] = field(default_factory=dict)


def attempt(target: Target, data: bytes) -> str | None:
    """Parse once. Returns what crashed; None if nothing did."""
    began = time.process_time()
    try:
        target.parse(data)
    except InternalError as error:
        return f"InternalError: {error.message}"
    except NilometerError:
        pass
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        return f"{type(error).__name__}: {str(error)[:120]}"
    return "slow" if time.process_time() - began > SLOW else None


def fuzz(
    target: Target, seed: int, more: Callable[[int], bool], known: tuple[bytes, ...] | None = None
) -> Fuzzed:
    """Try mutations while `more`, which is asked with the number tried, says so."""
    random = Random(seed)
    found = Fuzzed()
    corpus = known or target.corpus
    while more(found.tried):
        data = random.choice(corpus) if found.tried >= len(corpus) else corpus[found.tried]
        if found.tried >= len(corpus):
            data = mutated(data, corpus, random)
        crash = attempt(target, data)
        found.tried += 1
        if crash is not None:
            found.crashes.setdefault(crash, data)
    return found


def mutated(data: bytes, corpus: tuple[bytes, ...], random: Random) -> bytes:
    """Some bytes flipped, cut, repeated, inserted, or taken from another input."""
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        place = random.randrange(len(made) + 1)
        match random.randrange(6):
            case 0 if made:
                made[place % len(made)] ^= 1 << random.randrange(8)
            case 1:
                made[place:place] = random.randbytes(random.randint(1, 4))
            case 2:
                del made[place : place + random.randint(1, 8)]
            case 3:
                made[place:place] = made[place : place + random.randint(1, 32)] * random.choice((1, 2, 64))
            case 4:
                made[place:place] = random.choice(WORDS)
            case _:
                other = random.choice(corpus)
                cut = random.randrange(len(other) + 1)
                made[place:] = other[cut:]
    return bytes(made[:LONGEST])


WORDS = (
    b"9223372036854775808", b"-1", b"1e999", b"NaN", b"null", b"''", b'"', b"\\u0000", b"(" * 200, b"[" * 200,
    b"\xff\xff\xff\xff", b"\0\0\0\0", b" NOT " * 50, b"2026-02-30T25:61:61Z", b"--", b"/*", b"{" * 100,
)  # fmt: skip


def kept_corpus(folder: Path, name: str) -> tuple[bytes, ...]:
    """The inputs that are kept for a target in a folder, one file each."""
    place = folder / name
    return tuple(path.read_bytes() for path in sorted(place.iterdir())) if place.is_dir() else ()


def with_atheris(name: str, seconds: int, corpus: Path) -> tuple[int, dict[str, bytes]]:
    """Let atheris look for inputs, guided by coverage, in a process of its own. It begins with the inputs that are
    kept, and adds those that reach new code. Returns how many it tried, and the input that crashed."""
    place = corpus / name
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as crashes:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "nilometer.laboratory.fuzz.guided",
                name,
                str(place),
                crashes,
                str(seconds),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if "No module named 'atheris'" in done.stderr:
            raise ResourceError("atheris is not installed", hint="./nilo python -m pip install atheris")
        found = {path.name.split("-")[0]: path.read_bytes() for path in sorted(Path(crashes).iterdir())}
    tried = re.findall(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    if found:
        # The last line of the traceback says what was raised.
        raised = re.findall(r"^(\w*(?:Error|Exception)\b.*)$", done.stdout + done.stderr, re.MULTILINE)
        found = {raised[0] if raised else kind: data for kind, data in found.items()}
    elif not tried:
        raise InternalError(f"atheris did not run: {done.stderr[-500:]}")
    return int(tried[-1]) if tried else 0, found
