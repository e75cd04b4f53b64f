"""The program that Spark starts in place of Python: asks the zygote for a process, and stands for it until it
ends.

Its arguments are the zygote's socket and Python's own arguments. It imports only what is built into Python: `socket` and
`json` would double its 13 ms. If the zygote does not serve the request (a `-c`, another hash seed, a zygote that is gone), it
starts Python itself, as if there were no stub.
"""

from __future__ import annotations

import _socket
import marshal
import os
import sys

LENGTH = 4
"""The bytes that say how long a request is."""
STANDARD = (0, 1, 2)
KILLED = 137
"""The exit code of a process that ended without reporting one."""
LOOK = 1.0
"""Seconds from one look whether Spark's Java is still there to the next. One that is killed cannot end what it has started."""


def main(address: str, arguments: list[str]) -> int:
    """Run the arguments, and return the exit code."""
    java = os.getppid()
    is_module = len(arguments) > 1 and arguments[0] == "-m"
    asked = _asked(address, arguments) if is_module else None
    if asked is None:
        os.execv(sys.executable, [sys.executable, *arguments])
    asked.settimeout(LOOK)
    while os.getppid() == java:
        try:
            code = asked.recv(1)
        except TimeoutError:
            continue
        return code[0] if code else KILLED
    return KILLED  # with this one, the process for which it stands ends, too


def _asked(address: str, arguments: list[str]) -> _socket.socket | None:
    """The connection to a process that runs the arguments, with this one's input, outputs and environment;
    None if the zygote does not serve it.
    """
    request = marshal.dumps([arguments, dict(os.environ), os.getcwd()])
    files = b"".join(each.to_bytes(4, sys.byteorder) for each in STANDARD)
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.connect(address)
        head = len(request).to_bytes(LENGTH, sys.byteorder)
        line.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
        line.sendall(request)
        if line.recv(1) == b"+":
            return line
    except OSError:
        pass
    line.close()
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
