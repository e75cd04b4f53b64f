"""A TCP source with TLS, with certificates made here: what is sent arrives, and strangers write nothing."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.registry import adapter_for
from nilometer.ingest.adapters.tcp_lines import TcpLinesAdapter
from nilometer.types import INT, Column

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="no openssl to make a certificate with"
)

DEPTH = Stream("depth", stream_columns((Column("depth", INT),)))
LINE = b'{"time": %d, "id": 1, "depth": %d}\n'
PATIENCE = 60.0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "gateway.pem", folder / "gateway.key"
    subject = "/CN=localhost"
    request = (
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj {subject}"
    )
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*request.split(), *names, "-keyout", key, "-out", made], check=True, capture_output=True)
    return made, key


def source(certificate: tuple[Path, Path], more: str = "") -> TcpLinesAdapter:
    made, key = certificate
    return TcpLinesAdapter(
        DEPTH, Address.parse(f"tls://127.0.0.1:0?certificate={made}&key={key}{more}"), lambda: 99
    )


def trusting(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate[0])


def connected(port: TcpLinesAdapter, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", port.port), PATIENCE)
    return context.wrap_socket(plain, server_hostname="localhost")


def depths(port: TcpLinesAdapter, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        assert port.wake is not None
        assert port.wake.wait(PATIENCE)
        found += port.read().rows["depth"].to_list()
    return found


def closed(connection: socket.socket) -> bool:
    with contextlib.suppress(OSError):
        while connection.recv(1_000):
            pass
    return True


def test_readings_over_tls(certificate: tuple[Path, Path]) -> None:
    with source(certificate, "&token=secret") as port, connected(port, trusting(certificate)) as sensor:
        assert (sensor.version() or "") >= "TLSv1.2"
        lines = b"".join(LINE % (number, number) for number in range(1, 5_001))  # many TLS records
        sensor.sendall(b"secret\n" + lines)
        assert depths(port, 5_000) == list(range(1, 5_001))
        assert port.trouble is None


def test_strangers_write_nothing(certificate: tuple[Path, Path]) -> None:
    with source(certificate, "&token=secret") as port:
        with socket.create_connection(("127.0.0.1", port.port), PATIENCE) as plain:  # no TLS at all
            plain.sendall(b"secret\n" + LINE % (1, 1))
            assert closed(plain)
        with connected(port, trusting(certificate)) as sensor:  # TLS, and the wrong token
            sensor.sendall(b"wrong\n" + LINE % (1, 2))
            assert closed(sensor)
        with connected(port, trusting(certificate)) as sensor:
            sensor.sendall(b"secret\n" + LINE % (1, 3))
            assert depths(port, 1) == [3]
        assert port.trouble == "2 connections without the right certificate or token, closed"


@pytest.mark.promise("ports-with-tokens")
def test_sensors_with_certificates_need_no_token(certificate: tuple[Path, Path]) -> None:
    made, key = certificate
    everywhere = f"tls://0.0.0.0:0?certificate={made}&key={key}&ca={made}"
    with TcpLinesAdapter(DEPTH, Address.parse(everywhere), lambda: 99) as port:
        with connected(port, trusting(certificate)) as stranger:
            with contextlib.suppress(OSError):
                stranger.sendall(LINE % (1, 1))
            assert closed(stranger)
        known = trusting(certificate)
        known.load_cert_chain(made, key)
        with connected(port, known) as sensor:
            sensor.sendall(LINE % (2, 2))
            assert depths(port, 1) == [2]


@pytest.mark.promise("dripping-clients")
def test_a_handshake_that_never_ends_is_closed(certificate: tuple[Path, Path]) -> None:
    made, key = certificate
    now = [0.0]
    address = Address.parse(f"tls://127.0.0.1:0?certificate={made}&key={key}")
    with (
        TcpLinesAdapter(DEPTH, address, lambda: 99, lambda: now[0]) as port,
        socket.create_connection(("127.0.0.1", port.port), PATIENCE) as dripping,
    ):
        dripping.sendall(b"\x16\x03")
        with connected(port, trusting(certificate)) as sensor:  # the first one has been accepted before
            sensor.sendall(LINE % (1, 1))
            assert depths(port, 1) == [1]
            now[0] = 11.0
            assert closed(dripping)
            sensor.sendall(LINE % (2, 2))
            assert depths(port, 1) == [2]


def test_what_is_wrong_with_a_certificate_is_said(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    made, key = certificate
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for address, reason in (
        ("tls://127.0.0.1:0", "names no certificate"),
        (f"tls://127.0.0.1:0?certificate={broken}", "cannot be used"),
        (f"tls://127.0.0.1:0?certificate={tmp_path / 'none.pem'}", "cannot be used"),
        (f"tls://127.0.0.1:0?certificate={made}&key={made}", "cannot be used"),
        (f"tcp://127.0.0.1:0?certificate={made}&key={key}", "has no TLS"),
        (f"tls://0.0.0.0:0?certificate={made}&key={key}", "lets every machine"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            adapter_for(DEPTH, lambda: 0, url=address)
