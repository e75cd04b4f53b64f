"""Object stores: what their errors say, and logs in a real one (moto's server) that fails now and then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal
from pyarrow import fs

from log.logs import COLUMNS, frame, rows_of, small
from moto_server import BUCKET, Faulty, MotoServer
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.log import BusyError, LogDirectory
from nilometer.log.arrow_files import MERGED, PART, ArrowFiles
from nilometer.log.directory import place_of_logs, root_of_logs
from nilometer.log.object_store import ATTEMPTS, StoreError, open_store, store_errors


@pytest.fixture(scope="module")
def store() -> Iterator[MotoServer]:
    with MotoServer() as server:
        yield server


@pytest.fixture
def here(store: MotoServer, monkeypatch: pytest.MonkeyPatch) -> MotoServer:
    """The store, to which this process' variables lead."""
    for name, value in store.variables.items():
        monkeypatch.setenv(name, value)
    return store


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("AWS Error ACCESS_DENIED during HeadObject operation", "refuses our credentials"),
        ("AWS Error UNKNOWN (HTTP status 403) during HeadBucket", "refuses our credentials"),
        ("AWS Error NO_SUCH_BUCKET during PutObject operation", "has no such bucket"),
        ("Bucket 'lake' not found", "has no such bucket"),
        ("NETWORK_CONNECTION during ListObjectsV2: curlCode: 7, Could not connect", "cannot be reached"),
        ("AWS Error SLOW_DOWN during PutObject operation", f"in {ATTEMPTS} attempts"),
        ("something else", "has failed"),
    ],
)
def test_errors_say_what_to_do(said: str, told: str) -> None:
    with (
        pytest.raises(StoreError, match=f"the store of s3://lake/x {told}|{told}") as caught,
        store_errors("s3://lake/x"),
    ):
        raise OSError(said)
    assert said in str(caught.value)
    with pytest.raises(FileNotFoundError), store_errors("s3://lake/x"):
        raise FileNotFoundError("an object")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("s3://me:hush@lake/field", "must not hold credentials"),
        ("s3://lake/field?secret_key=hush", "no option 'secret_key'"),
        ("s3:///field", "names no bucket"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(told)) as caught:
        LogDirectory(url)
    assert "hush" not in str(caught.value)


def test_a_setting_puts_the_logs_elsewhere(tmp_path: Path) -> None:
    field, elsewhere = tmp_path / "field", tmp_path / "elsewhere"
    field.mkdir()
    for said, root in (
        (None, field / ".nilometer" / "log"),
        (elsewhere.as_uri(), elsewhere.as_uri()),
        ("../elsewhere", field / "../elsewhere"),
    ):
        (field / "nilometer.toml").write_text("" if said is None else f'logs = "{said}"\n')
        assert root_of_logs(field) == root
        assert place_of_logs(field) == (said if said is not None and "://" in said else str(field))
        logs = LogDirectory(field, small())
        with logs.log("river", COLUMNS) as log:
            log.append(frame(log.end.position, 3))
        assert logs.streams() == ["river"]
    assert LogDirectory(elsewhere.as_uri()).log("river").end.position == 6, "the last two are the same folder"
    (field / "nilometer.toml").write_text("logs = 3")
    with pytest.raises(ConfigurationError, match="'logs' is 3, and must be a folder or a URL"):
        LogDirectory(field)


def test_many_parts_become_few(tmp_path: Path) -> None:
    """A slow stream's open segment is read with few requests, however often it was synced, and while it is merged."""
    files = ArrowFiles(fs.LocalFileSystem(), str(tmp_path))
    files.replace("x", b"")
    appender = files.append_to("x", 0)
    for number in range(3 * MERGED * MERGED + 5):
        appender.write(memoryview(b"%04d" % number))
        appender.sync()
        if number % 50 == 0:
            assert bytes(files.read("x"))[-4:] == b"%04d" % number
    parts = [path.name for path in tmp_path.iterdir() if PART in path.name]
    assert len(parts) == 3 + 5
    expected = b"".join(b"%04d" % number for number in range(3 * MERGED * MERGED + 5))
    assert bytes(files.read("x")) == expected
    assert bytes(files.read("x", 1_001, 5_000)) == expected[1_001:6_001]
    appender.close()
    # What a crash has left of a merge counts once.
    (tmp_path / f"x{PART}{4:020d}").write_bytes(b"0001")
    assert bytes(files.read("x")) == expected
    again = files.append_to("x", len(expected))
    again.write(memoryview(b"more"))
    again.sync()
    assert bytes(files.read("x")) == expected + b"more"
    files.seal("x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.moto
@pytest.mark.slow
def test_a_log_in_a_store(here: MotoServer) -> None:
    url = f"s3://{BUCKET}/logs"
    with LogDirectory(url, small(segment_bytes=2_000)).log("river", COLUMNS) as log:
        for number in range(10):
            log.append(frame(4 * number, 4))
            log.flush()
        with pytest.raises(BusyError, match="is being written by process"):
            LogDirectory(url).log("river", COLUMNS).append(frame(0, 1))
        assert_frame_equal(rows_of(LogDirectory(url).log("river")), frame(0, 40))
    found = LogDirectory(url)
    assert found.streams() == ["river"]
    assert not found.log("river").verify().damages
    assert not [name for name in here.names("logs") if PART in name], "closed segments are one object"


@pytest.mark.moto
@pytest.mark.slow
def test_a_missing_bucket_and_a_store_that_is_away(here: MotoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="has no such bucket"):
        LogDirectory("s3://pond/logs")
    filesystem, _ = open_store(f"s3://{BUCKET}/logs")
    with pytest.raises(ResourceError, match="has no such bucket"):
        ArrowFiles(filesystem, "pond/logs").replace("x", b"1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        LogDirectory(f"s3://{BUCKET}/logs")
    assert "hush" not in str(caught.value)


@pytest.mark.moto
@pytest.mark.slow
def test_wrong_credentials(here: MotoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"s3://{BUCKET}/secret"
    with LogDirectory(url).log("river", COLUMNS) as log:
        log.append(frame(0, 4))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush hush")
    here.believe(0)
    try:
        with pytest.raises(StoreError, match="refuses our credentials") as caught:
            LogDirectory(url)
        with pytest.raises(StoreError, match="refuses our credentials"):
            ArrowFiles(here.files(), f"{BUCKET}/secret").replace("x", b"1")
    finally:
        here.believe(float("inf"))
    assert "hush" not in str(caught.value)
    assert_frame_equal(rows_of(LogDirectory(url).log("river")), frame(0, 4))


@pytest.mark.moto
@pytest.mark.slow
@pytest.mark.parametrize("method", ["PUT", "GET", "HEAD"])
def test_requests_that_fail_for_a_moment_are_repeated(
    here: MotoServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    with Faulty(here.url, method, [503, 0, 500]) as way:
        monkeypatch.setenv("AWS_ENDPOINT_URL", way.url)
        filesystem, root = open_store(f"s3://{BUCKET}/{method.lower()}")
        files = ArrowFiles(filesystem, root)
        files.replace("x", b"12345")
        assert bytes(files.read("x")) == b"12345"
        assert way.asked > 3, "three failed"


@pytest.mark.moto
@pytest.mark.slow
def test_an_upload_that_fails_leaves_nothing(here: MotoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a large object is refused for good: the object before it stays whole."""
    large = bytes(bytearray(range(256))) * (48 << 10)
    filesystem, root = open_store(f"s3://{BUCKET}/large")
    ArrowFiles(filesystem, root).replace("x", b"before")
    with Faulty(here.url, "PUT", [503] * 100) as way:
        monkeypatch.setenv("AWS_ENDPOINT_URL", way.url)
        filesystem, root = open_store(f"s3://{BUCKET}/large")
        with pytest.raises(StoreError, match=f"in {ATTEMPTS} attempts"):
            ArrowFiles(filesystem, root).replace("x", large)
        assert bytes(ArrowFiles(here.files(), root).read("x")) == b"before"


@pytest.mark.moto
@pytest.mark.slow
def test_rows_that_a_store_refused_are_appended_later(
    here: MotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Faulty(here.url, "PUT", []) as way:
        monkeypatch.setenv("AWS_ENDPOINT_URL", way.url)
        log = LogDirectory(f"s3://{BUCKET}/refusing", small(fsync="always")).log("river", COLUMNS)
        log.append(frame(0, 4))
        way.fail([503] * ATTEMPTS)
        with pytest.raises(ResourceError):
            log.append(frame(4, 4))
        log.append(frame(4, 4))
        log.close()
    assert_frame_equal(rows_of(LogDirectory(f"s3://{BUCKET}/refusing").log("river")), frame(0, 8))
