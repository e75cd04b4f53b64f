"""What is deployed: the compose file, the unit and the dashboard agree with each other and with the program.

A test has no Docker engine: the files are parsed, and the commands of the Dockerfile are looked at.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from plain_yaml import load
from server.serving import AIR, calling, minute

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def test_the_dashboard_asks_for_metrics_that_there_are(tmp_path: Path) -> None:
    dashboard = json.loads((DEPLOY / "grafana/dashboards/nilometer.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\bnilometer_\w+", target["expr"])
    }
    schema = f"{AIR}CREATE QUERY all AS SELECT time, id, pm25 FROM air;\n".replace(" all ", ' "all" ')
    with calling(tmp_path, schema) as caller:
        caller.send("air", [minute(0)])
        printed = set(re.findall(r"^# TYPE (\w+)", caller("GET", "/metrics").body.decode(), re.MULTILINE))
    assert asked <= printed, asked - printed
    assert len(asked) >= 15
    identities = [panel["id"] for panel in dashboard["panels"]]
    assert len(identities) == len(set(identities))


def test_the_compose_file_mounts_what_is_there() -> None:
    compose = load(DEPLOY / "compose.yaml")
    services = compose["services"]
    assert services.keys() == {"nilometer", "mosquitto", "prometheus", "grafana"}
    assert (DEPLOY / services["nilometer"]["build"]["context"] / "deploy/Dockerfile").resolve().is_file()
    for service in services.values():
        for volume in service["volumes"]:
            place = volume.split(":")[0]
            if place.startswith("."):
                assert place == "./data" or (DEPLOY / place).exists(), volume
            else:
                assert place in compose["volumes"], volume
        for port in service["ports"]:
            assert port.startswith("127.0.0.1:"), "nothing is open to the network before somebody opens it"
        for other in service.get("depends_on", ()):
            assert other in services


def test_prometheus_and_grafana_find_each_other() -> None:
    scraped = load(DEPLOY / "prometheus/prometheus.yml")["scrape_configs"][0]
    assert scraped["static_configs"][0]["targets"] == ["nilometer:7654"]
    source = load(DEPLOY / "grafana/provisioning/datasources/prometheus.yaml")
    dashboard = json.loads((DEPLOY / "grafana/dashboards/nilometer.json").read_text())
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {source["datasources"][0]["uid"]}
    provider = load(DEPLOY / "grafana/provisioning/dashboards/nilometer.yaml")
    path = provider["providers"][0]["options"]["path"]
    mounted = load(DEPLOY / "compose.yaml")["services"]["grafana"]["volumes"]
    assert f"./grafana/dashboards:{path}:ro" in mounted


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, with continued lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined.splitlines()]


def test_the_dockerfile_copies_what_is_there_and_runs_a_verb_that_is_there() -> None:
    from nilometer.cli.main import application

    found = instructions((DEPLOY / "Dockerfile").read_text())
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    known = {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"}
    assert {word for word, _ in found} <= known | {"STOPSIGNAL", "ENTRYPOINT", "CMD"}
    for word, rest in found:
        if word == "COPY" and "--from" not in rest:
            for name in rest.split()[:-1]:
                assert (ROOT / name).exists(), name
                assert f"!{name}" in ignored, f".dockerignore hides {name}"
    arguments: dict[str, Any] = {
        word: json.loads(rest) for word, rest in found if word in ("ENTRYPOINT", "CMD")
    }
    assert arguments["ENTRYPOINT"] == ["nilometer"]
    verbs = {command.name for command in application.registered_commands}
    assert arguments["CMD"][0] in verbs
    users = [rest for word, rest in found if word == "USER"]
    assert users == ["nilometer"], "it does not run as root"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd/nilometer@.service").read_text()
    assert "ExecStart=/opt/nilometer/bin/nilometer serve" in text
    unit = tmp_path / "nilometer@field.service"
    unit.write_text(text.replace("/opt/nilometer/bin/nilometer", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    ours = [line for line in done.stderr.splitlines() if "nilometer" in line]
    assert (done.returncode, ours) == (0, []), done.stderr
