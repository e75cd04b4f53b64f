"""Machines of a test's own: network namespaces of Linux, joined by a switch in one more of them. Root makes them.

Nothing of the machine's own network is touched. A link can be cut, as if its plug were pulled, and can lose packets.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

SWITCH = "switch"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


@cache
def why_not() -> str | None:
    """Why namespaces cannot be made here; None if they can."""
    for program in ("ip", "iptables"):
        if shutil.which(program) is None:
            return f"'{program}' is not installed"
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    try:
        with Machines(["a"]) as machines:
            machines.lose("a", 0.1)
    except subprocess.CalledProcessError as error:
        return f"no network namespaces with bridges and iptables: {error.stderr.strip()[:100]}"
    return None


class Machines:
    """Namespaces by name, with the addresses 10.77.0.1 and on."""

    def __init__(self, names: list[str]) -> None:
        self._prefix = f"nilo{os.getpid()}"
        self.addresses = {name: f"10.77.0.{number + 1}" for number, name in enumerate(names)}

    def __enter__(self) -> Machines:
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self) -> None:
        switch = self._space(SWITCH)
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "bridge", "up")
        for number, (name, address) in enumerate(self.addresses.items()):
            space, port = self._space(name), f"port{number}"
            _run("ip", "netns", "add", space)
            _run(
                "ip",
                "-n",
                switch,
                "link",
                "add",
                port,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                space,
            )
            _run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
            _run("ip", "-n", space, "address", "add", f"{address}/24", "dev", "eth0")
            _run("ip", "-n", space, "link", "set", "eth0", "up")
            _run("ip", "-n", space, "link", "set", "lo", "up")

    def __exit__(self, *_: object) -> None:
        for name in [*self.addresses, SWITCH]:
            subprocess.run(["ip", "netns", "delete", self._space(name)], check=False, capture_output=True)

    def inside(self, name: str) -> list[str]:
        """What stands before a command that runs on a machine."""
        return ["ip", "netns", "exec", self._space(name)]

    def cut(self, name: str) -> None:
        """Pull the plug of a machine: its packets are lost, and no connection is told."""
        self._port(name, "down")

    def heal(self, name: str) -> None:
        """Put the plug in again."""
        self._port(name, "up")

    def lose(self, name: str, share: float) -> None:
        """A machine loses this share of the packets that come."""
        _run(*self.inside(name), "iptables", "-F", "INPUT")
        if share:
            chance = ("-m", "statistic", "--mode", "random", "--probability", str(share))
            _run(*self.inside(name), "iptables", "-A", "INPUT", "-i", "eth0", *chance, "-j", "DROP")

    def _port(self, name: str, state: str) -> None:
        number = list(self.addresses).index(name)
        _run("ip", "-n", self._space(SWITCH), "link", "set", f"port{number}", state)

    def _space(self, name: str) -> str:
        return f"{self._prefix}-{name}"
