"""Hides the credentials of addresses in everything that people read: errors, troubles, notes, listings.

The law: a password is hidden however malformed its address is. Where the end of the password is in doubt, more is
hidden than need be. A reference such as `${AIR_PASSWORD}` is no secret and stays.

>>> (
...     redacted("mqtt://me:secret@host/air"),
...     redacted("mqtt://me:${AIR}@host/air"),
...     redacted("mqtt://host:1883/air"),
... )
('mqtt://me:***@host/air', 'mqtt://me:${AIR}@host/air', 'mqtt://host:1883/air')
>>> (
...     redacted("mqtt://me:se/cr@t@host/air"),
...     redacted("mqtt:/me:secret@host"),
...     redacted("http://h/x?api_key=abc&n=1"),
... )
('mqtt://me:***@host/air', 'mqtt:***@host', 'http://h/x?api_key=***&n=1')
>>> redacted_text("cannot open 'mqtt://me:secret@host/air': no route")
"cannot open 'mqtt://me:***@host/air': no route"
"""

from __future__ import annotations

import re

HIDDEN = "***"

REFERENCE = re.compile(r"\$\{(?:file:[^{}]+|[A-Za-z_]\w*)\}")
"""`${NAME}`, a variable of the environment, or `${file:PATH}`, the first line of a file."""

_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")
_USER = re.compile(r"[\w.~%!$&*+,;=-]*:")
_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::\d*)?")
_SECRET_OPTION = re.compile(
    r"([?&;](?:[^=&;?'\s]*(?:pass|pwd|secret|token|key|auth|credential|signature)[^=&;?'\s]*|sig)=)([^&'\s]*)",
    re.I,
)
_IN_TEXT = re.compile(
    r"(?<=')[A-Za-z][A-Za-z0-9+.-]*://[^'\n]*@|[A-Za-z][A-Za-z0-9+.-]*://\S*@|[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]*|[^\s'\"]*:\S*@"
)


def redacted(address: str) -> str:
    """The address without its password and without the values of secret options."""
    return _SECRET_OPTION.sub(_hide_option, _without_password(address))


def redacted_text(text: str) -> str:
    """A text without the credentials of the addresses that it quotes."""
    hidden = _IN_TEXT.sub(lambda match: _without_password(match[0]), text) if ":" in text else text
    return _SECRET_OPTION.sub(_hide_option, hidden)


def without(text: str, secrets: tuple[str, ...]) -> str:
    """A text of another program, such as a driver's error, without these secrets.

    >>> without("port 'cret' of me:se/cret@h is a problem", ("se/cret", "cret"))
    "port '***' of me:***@h is a problem"
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        plain = re.escape(secret)
        # A short password is also a part of ordinary words.
        text = re.sub(plain if len(secret) > 3 else rf"(?<!\w){plain}(?!\w)", HIDDEN, text)
    return redacted_text(text)


def _hide_option(match: re.Match[str]) -> str:
    return match[1] + (match[2] if re.fullmatch(REFERENCE.pattern + "[,.;)]*", match[2]) else HIDDEN)


def _without_password(address: str) -> str:
    scheme = _SCHEME.match(address)
    head, rest = (address[: scheme.end()], address[scheme.end() :]) if scheme else ("", address)
    login, at, place = rest.rpartition("@")
    if at:
        # The last '@' may also be in the path. Better to hide a host than to show a password.
        user = _USER.match(login)
        if user is None:
            shown = login if re.fullmatch(r"[\w.-]*", login) or REFERENCE.fullmatch(login) else HIDDEN
            return f"{head}{shown}@{place}"
        password = login[user.end() :]
        kept = password if not password or REFERENCE.fullmatch(password) else HIDDEN
        return f"{head}{user[0]}{kept}@{place}"
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if scheme is not None and ":" in authority and not _PORT.fullmatch(authority) and "${" not in authority:
        # A password whose '@' is missing, or a port that is no number.
        return f"{head}{authority[: authority.index(':') + 1]}{HIDDEN}"
    return address
