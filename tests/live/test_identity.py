"""The identity of a data directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from nilometer.errors import DataError
from nilometer.live.identity import identity_of


def test_an_identity_is_made_once(tmp_path: Path) -> None:
    made = identity_of(tmp_path)
    assert len(made) == 8
    assert identity_of(tmp_path) == made


@pytest.mark.promise("identity")
@pytest.mark.parametrize("garbage", [b"\xff\xfe\x00", b"a b", b"x" * 100, b"../../etc", b"a\nb"])
def test_garbage_is_an_error_with_a_hint(tmp_path: Path, garbage: bytes) -> None:
    identity_of(tmp_path)
    (tmp_path / ".nilometer" / "identity").write_bytes(garbage)
    with pytest.raises(DataError, match="is damaged") as raised:
        identity_of(tmp_path)
    assert "delete it" in str(raised.value.hint)
    assert raised.value.exit_code == 1
