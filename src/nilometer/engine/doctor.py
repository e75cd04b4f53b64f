"""Looks at the machine and the data directory: what is wrong, and how to mend it.

A check is a function that yields findings. The law: it changes nothing, and one that fails itself is a finding, too.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nilometer.catalog.address import Address
from nilometer.engine.database import Database, connect
from nilometer.errors import NilometerError
from nilometer.redaction import redacted
from nilometer.types import format_bytes

OK, WARNING, WRONG = "ok", "warning", "wrong"
JAVA = 17
"""The oldest Java that Spark 4 takes."""
SECONDS = 3.0
"""How long a host may take to answer."""
PORTS = {
    "mqtt": 1883,
    "mqtts": 8883,
    "kafka": 9092,
    "kafkas": 9092,
    "http": 80,
    "https": 443,
    "postgresql": 5432,
    "postgres": 5432,
}
PORTS |= {"smtp": 25, "smtps": 465}
STA_UNSYNC = 0x40


@dataclass(frozen=True)
class Finding:
    """The subject of a check, its condition, and what to do about it."""

    check: str
    state: str
    found: str
    mend: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


Check = Callable[[Path | None], Iterator[Finding]]


def examine(directory: Path | None, http: tuple[str, int] | None = None) -> list[Finding]:
    """All findings. `http`: where the server is to listen."""
    found: list[Finding] = []
    checks: list[Check] = [
        *(_python, _packages, _java, _clock, _descriptors, _memory),
        *((_owner, _rights, _disk, _logs, _declarations) if directory is not None else ()),
    ]
    for check in checks:
        name = check.__name__.strip("_")
        try:
            found += check(directory)
        except NilometerError as error:
            found.append(Finding(name, WRONG, error.message, error.hint))
        except OSError as error:
            found.append(Finding(name, WRONG, f"cannot be looked at: {error}"))
    if http is not None:
        found.append(_port(http, directory))
    return found


# ---- the machine -----------------------------------------------------------------------------------------------------


def _python(_: Path | None) -> Iterator[Finding]:
    now = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    mend = None if good else "install Python 3.11 or newer"
    yield Finding("python", OK if good else WRONG, f"Python {now}, nilometer {version('nilometer')}", mend)


def _packages(_: Path | None) -> Iterator[Finding]:
    for extra, names in (("server", ("fastapi", "uvicorn", "websockets")), ("spark", ("pyspark", "pandas"))):
        there = {name: _version(name) for name in names}
        missing = [name for name, found in there.items() if found is None]
        if missing:
            yield Finding(
                f"packages for {extra}",
                WARNING,
                f"{', '.join(missing)} missing",
                f"to use it: pip install 'nilometer[{extra}]'",
            )
        else:
            shown = ", ".join(f"{name} {found}" for name, found in there.items())
            yield Finding(f"packages for {extra}", OK, shown)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _java(_: Path | None) -> Iterator[Finding]:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    mend = f"install Java {JAVA} or newer (Debian: default-jre-headless); only Spark needs it"
    if program is None or not Path(program).exists():
        said = f"JAVA_HOME is {home}, and has no bin/java" if home else "there is no java"
        yield Finding("java", WARNING, said, "correct JAVA_HOME" if home else mend)
        return
    try:
        run = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except subprocess.TimeoutExpired:
        yield Finding("java", WARNING, f"{program} does not answer", mend)
        return
    number = re.search(r'version "(\d+)', run.stderr + run.stdout)
    if number is None:
        yield Finding("java", WARNING, f"{program} does not say its version", mend)
    elif int(number[1]) < JAVA:
        yield Finding("java", WARNING, f"Java {number[1]} at {program}", mend)
    else:
        yield Finding("java", OK, f"Java {number[1]} at {program}")


def _clock(_: Path | None) -> Iterator[Finding]:
    """The kernel knows whether something keeps its clock (NTP), and how wrong it may be."""
    kept = ctypes.create_string_buffer(512)
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(kept)
    except (OSError, AttributeError):
        return
    if state < 0:
        yield Finding("clock", WARNING, "the kernel does not say whether the clock is right")
        return
    error = int.from_bytes(kept.raw[24:32], sys.byteorder, signed=True) / 1_000
    unsynchronized = int.from_bytes(kept.raw[40:44], sys.byteorder) & STA_UNSYNC or state == 5
    mend = "readings far from this clock are late or in the future: run chrony or systemd-timesyncd"
    if unsynchronized:
        yield Finding("clock", WARNING, "no NTP keeps this machine's clock", mend)
    elif error > 1_000:
        yield Finding("clock", WARNING, f"the clock may be wrong by {error / 1_000:.1f} s", mend)
    else:
        yield Finding("clock", OK, f"kept by NTP, right to {error:.0f} ms")


def _descriptors(_: Path | None) -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4_096:
        mend = f"ulimit -n {min(65_536, hard)}; in a systemd unit LimitNOFILE=65536"
        yield Finding("descriptors", WARNING, f"{soft} open files at most: half may be connections", mend)
    else:
        yield Finding("descriptors", OK, f"{soft} open files at most")


def _memory(_: Path | None) -> Iterator[Finding]:
    from nilometer.memory import budget

    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    asked = budget().whole
    if asked > whole * 0.9:
        yield Finding(
            "memory",
            WARNING,
            f"{format_bytes(asked)} are set, and the machine has {format_bytes(whole)}",
            'set less: memory = "2GB" in nilometer.toml, or --memory',
        )
    else:
        yield Finding("memory", OK, f"{format_bytes(asked)} of {format_bytes(whole)}")


# ---- the data directory ----------------------------------------------------------------------------------------------


def _owner(directory: Path | None) -> Iterator[Finding]:
    from nilometer.live.owner.lock import holder_of, is_owned

    assert directory is not None
    if not directory.is_dir():
        yield Finding(
            "directory", WRONG, f"there is no directory '{directory}'", "create it, with a schema.sql"
        )
        return
    if not is_owned(directory):
        yield Finding("owner", OK, "nobody runs the directory; nilometer serve would")
        return
    from nilometer.live.owner.client import find_owner

    holder = holder_of(directory)
    try:
        client = find_owner(directory)
        if client is not None:
            with client:
                pass
        yield Finding("owner", OK, str(holder or "a process that has not said its name"))
    except NilometerError as error:
        mend = None if holder is None else f"look at it, or end it: kill {holder.pid}"
        yield Finding("owner", WRONG, f"{holder} does not answer: {error.message}", mend)


def _rights(directory: Path | None) -> Iterator[Finding]:
    assert directory is not None
    kept = directory / ".nilometer"
    if not os.access(directory, os.W_OK | os.X_OK):
        yield Finding(
            "rights", WRONG, f"'{directory}' cannot be written", "chown it to the user that runs Nilometer"
        )
        return
    if kept.exists() and kept.stat().st_mode & 0o077:
        yield Finding("rights", WRONG, f"'{kept}' is open to other users", f"chmod -R go= {kept}")
        return
    strange = [path for path in _some(kept) if path.stat().st_uid != os.geteuid() and os.geteuid() != 0]
    if strange:
        yield Finding(
            "rights", WRONG, f"'{strange[0]}' belongs to another user", f"chown -R {os.geteuid()} {kept}"
        )
        return
    yield Finding("rights", OK, "the directory can be written, and others cannot read what is kept")


def _logs(directory: Path | None) -> Iterator[Finding]:
    """The logs, if nilometer.toml puts them elsewhere."""
    from nilometer.log.directory import LogDirectory, root_of_logs
    from nilometer.settings_file import logs_setting

    assert directory is not None
    if logs_setting(directory) is None:
        return
    count = len(LogDirectory(directory).streams())
    yield Finding(
        "logs", OK, f"{root_of_logs(directory)} has the logs of {count} stream{'' if count == 1 else 's'}"
    )


def _some(kept: Path) -> list[Path]:
    return sorted(kept.glob("*"))[:1_000] if kept.is_dir() else []


def _disk(directory: Path | None) -> Iterator[Finding]:
    assert directory is not None
    if not directory.is_dir():
        return
    usage = shutil.disk_usage(directory)
    share = usage.free / usage.total if usage.total else 0.0
    said = f"{format_bytes(usage.free)} of {format_bytes(usage.total)} free"
    mend = "delete old readings (nilometer log trim, queries trim), or give it a larger disk"
    state = WRONG if usage.free < 64 << 20 else WARNING if share < 0.05 else OK
    yield Finding("disk", state, said, mend if state != OK else None)
    inodes = os.statvfs(directory)
    if inodes.f_files and inodes.f_favail < 1_000:
        yield Finding("disk", WRONG, f"{inodes.f_favail} more files can be created", mend)
    times = []
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".doctor-") as file:
        for _ in range(5):
            file.write(b"x" * 4_096)
            file.flush()
            began = time.monotonic()
            os.fsync(file.fileno())
            times.append(1_000 * (time.monotonic() - began))
    took = statistics.median(times)
    slow = took > 50
    yield Finding(
        "fsync",
        WARNING if slow else OK,
        f"{took:.1f} ms",
        "readings wait that long to be acknowledged: use an SSD, not an SD card or a network disk"
        if slow
        else None,
    )


def _declarations(directory: Path | None) -> Iterator[Finding]:
    assert directory is not None
    if not directory.is_dir():
        return
    database = connect(directory)
    count = len(database.catalog.streams()), len(database.catalog.queries())
    yield Finding("declarations", OK, f"streams: {count[0]}, standing queries: {count[1]}")
    yield from _hosts(database, directory)


def _hosts(database: Database, directory: Path) -> Iterator[Finding]:
    """Whether the brokers, servers and databases that are declared can be reached."""
    from nilometer.live.alerts.settings import settings_of as alert_of
    from nilometer.live.alerts.transports import SMTP
    from nilometer.settings_file import settings_of

    addresses = [stream.url for stream in database.catalog.streams() if stream.url]
    addresses += [table.url for table in database.catalog.tables() if table.url]
    alerts = [
        alert_of(one.made_by, one.columns) for one in database.catalog.reactions("ALERT") if one.made_by
    ]
    addresses += [one.address for one in alerts]
    if any(one.address.startswith("mailto:") for one in alerts):
        server = os.environ.get(SMTP) or settings_of(directory)[0].get("smtp")
        if server is None:
            yield Finding("mail", WRONG, "an alert sends mail, and no server is set", f"set {SMTP}")
        else:
            addresses.append(str(server))
    for address in dict.fromkeys(addresses):
        scheme = address.partition(":")[0].lower()
        if scheme in PORTS:
            yield _host(address, PORTS[scheme])


def _host(written: str, port: int) -> Finding:
    shown = redacted(written)
    try:
        address = Address.parse(written)
        with socket.create_connection((address.host, address.port or port), SECONDS):
            return Finding("host", OK, f"{shown} can be reached")
    except NilometerError as error:
        return Finding("host", WRONG, error.message, error.hint)
    except OSError as error:
        mend = "start it, or correct the address, its port or the firewall"
        return Finding("host", WRONG, f"{shown} cannot be reached: {error.strerror or error}", mend)


def _port(place: tuple[str, int], directory: Path | None) -> Finding:
    host, port = place
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            from nilometer.live.owner.lock import is_owned

            ours = directory is not None and is_owned(directory)
            if ours:
                return Finding("port", OK, f"{host}:{port} is in use, perhaps by the owner of the directory")
            mend = "another program may listen there: choose another port with --http"
            return Finding("port", WRONG, f"{host}:{port}: {error.strerror}", mend)
    return Finding("port", OK, f"{host}:{port} is free")
