"""An API server of Kubernetes on loopback whose pods are processes of this machine, for Spark's own Kubernetes backend.

    with Kubernetes() as cluster:
        subprocess.run([sys.executable, "job.py"], env=cluster.environment)   # its spark_session() asks for executor pods
        cluster.kill_pod()

No Kubernetes can be had from the package registries. The driver, its backend and the executors are Spark's. Played here are the
API server (pods, config maps, watches: what the backend calls, and nothing else) and the kubelet: a pod's command is run as the
entry point of Spark's images runs it, with the pod's variables alone.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import pyspark

from nilometer.spark.java import java_home
from spark.cluster import HOST, PATIENCE, QUICK

BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_PATH = re.compile(r"/api/v1/namespaces/[^/]+/(?P<kind>[a-z]+)(/(?P<name>[^/]+))?")
_KINDS = {"pods": "Pod", "configmaps": "ConfigMap"}
Object = dict[str, Any]


class Kubernetes:
    """Started on entering, gone on leaving."""

    def __init__(self, executors: int = 2, variables: Mapping[str, str] | None = None) -> None:
        """`variables` are those of the driver and of the pods."""
        self._executors = executors
        self._variables = dict(variables or {})
        self._objects: dict[tuple[str, str], Object] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._watchers: list[tuple[str, str, queue.Queue[Object | None]]] = []
        self._version = 0
        self._lock = threading.RLock()
        self.directory = Path(tempfile.mkdtemp(prefix="nilometer-pods-"))
        self.pods_made = 0
        handler = type("Handler", (_Handler,), {"cluster": self})
        self._server = ThreadingHTTPServer((HOST, 0), handler)
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            for _, _, events in self._watchers:
                events.put(None)
            running = list(self._processes.values())
        for process in running:
            _kill(process)
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a driver whose `spark_session()` shall be here."""
        settings = {
            "spark.master": f"k8s://http://{HOST}:{self._server.server_port}",
            "spark.kubernetes.container.image": "none",
            "spark.executor.instances": str(self._executors),
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": QUICK,
            "spark.driver.extraJavaOptions": QUICK,
            "spark.sql.shuffle.partitions": "2",
            "spark.locality.wait": "0",
        } | {f"spark.executorEnv.{name}": value for name, value in self._variables.items()}
        told = {f"NILOMETER_SPARK__{name.replace('.', '__')}": value for name, value in settings.items()}
        return dict(os.environ) | self._variables | told | {"SPARK_LOCAL_DIRS": str(self.directory)}

    def kill_pod(self) -> None:
        """kill -9 of the oldest pod that runs."""
        with self._lock:
            process = next(process for process in self._processes.values() if process.poll() is None)
        _kill(process)

    # ---- objects -----------------------------------------------------------------------------------------------------

    def create(self, kind: str, body: Object) -> Object:
        with self._lock:
            meta = body["metadata"]
            name = meta["name"]
            meta |= {
                "uid": f"{kind}-{name}",
                "namespace": "default",
                "creationTimestamp": "2026-01-01T00:00:00Z",
            }
            if kind == "pods":
                body["status"] = {"phase": "Pending"}
            self._note("ADDED", kind, name, body)
            if kind == "pods":
                self.pods_made += 1
                self._run(name, body)
            return body

    def change(self, kind: str, name: str, patch: Object) -> Object | None:
        with self._lock:
            found = self._objects.get((kind, name))
            if found is not None:
                labels = patch.get("metadata", {}).get("labels", {})
                found["metadata"].setdefault("labels", {}).update(labels)
                self._note("MODIFIED", kind, name, found)
            return found

    def delete(self, kind: str, name: str) -> Object | None:
        with self._lock:
            found = self._objects.get((kind, name))
            if found is None:
                return None
            process = self._processes.pop(name, None)
            self._note("DELETED", kind, name, found)
            del self._objects[kind, name]
        if kind == "pods" and process is not None:
            _kill(process)
        return found

    def get(self, kind: str, name: str) -> Object | None:
        with self._lock:
            return self._objects.get((kind, name))

    def listed(self, kind: str, selector: str) -> Object:
        with self._lock:
            items = [one for (of, _), one in self._objects.items() if of == kind and _selected(one, selector)]
            return {
                "kind": f"{_KINDS[kind]}List",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": str(self._version)},
                "items": json.loads(json.dumps(items)),
            }

    def watch(self, kind: str, selector: str) -> Iterator[Object]:
        """Every change from now on."""
        events: queue.Queue[Object | None] = queue.Queue()
        watcher = (kind, selector, events)
        with self._lock:
            self._watchers.append(watcher)
        try:
            while (event := events.get()) is not None:
                yield event
        finally:
            with self._lock:
                self._watchers.remove(watcher)

    def _note(self, what: str, kind: str, name: str, body: Object) -> None:
        self._version += 1
        body["metadata"]["resourceVersion"] = str(self._version)
        self._objects[kind, name] = body
        event = {"type": what, "object": json.loads(json.dumps(body))}
        for of, selector, events in self._watchers:
            if of == kind and _selected(body, selector):
                events.put(event)

    # ---- pods --------------------------------------------------------------------------------------------------------

    def _run(self, name: str, pod: Object) -> None:
        (container,) = pod["spec"]["containers"]
        assert container["args"] == ["executor"], container["args"]
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
        variables |= {
            one["name"]: one.get("value", HOST) for one in container["env"]
        }  # the pod's own address: HOST
        variables["SPARK_LOCAL_DIRS"] = str(self.directory)
        options = [
            variables[key] for key in sorted(variables, key=_number) if key.startswith("SPARK_JAVA_OPT_")
        ]
        home = Path(pyspark.__file__).parent
        command = [str(Path(str(java_home())) / "bin" / "java"), *options]
        command += ["-Xmx" + variables["SPARK_EXECUTOR_MEMORY"], "-cp", f"{home}/jars/*", BACKEND]
        told = {
            "--driver-url": "SPARK_DRIVER_URL",
            "--executor-id": "SPARK_EXECUTOR_ID",
            "--cores": "SPARK_EXECUTOR_CORES",
            "--app-id": "SPARK_APPLICATION_ID",
            "--hostname": "SPARK_EXECUTOR_POD_IP",
            "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
            "--podName": "SPARK_EXECUTOR_POD_NAME",
        }
        command += [word for option, variable in told.items() for word in (option, variables[variable])]
        place = self.directory / name
        place.mkdir()
        with (place / "log").open("wb") as log:
            process = subprocess.Popen(
                command,
                env=variables,
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes[name] = process
        self._has(name, "Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}})
        threading.Thread(target=self._follow, args=(name, process), daemon=True).start()

    def _follow(self, name: str, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        ended = {"terminated": {"exitCode": 137 if code < 0 else code, "finishedAt": "2026-01-01T00:00:01Z"}}
        self._has(name, "Failed" if code else "Succeeded", ended)

    def _has(self, name: str, phase: str, state: Object) -> None:
        with self._lock:
            pod = self._objects.get(("pods", name))
            if pod is None:
                return
            container = pod["spec"]["containers"][0]["name"]
            statuses = [{"name": container, "ready": phase == "Running", "restartCount": 0, "state": state}]
            pod["status"] = {"phase": phase, "podIP": HOST, "containerStatuses": statuses}
            self._note("MODIFIED", "pods", name, pod)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE)


def _number(variable: str) -> tuple[int, str]:
    digits = re.search(r"\d+$", variable)
    return (int(digits[0]) if digits else -1, variable)


def _selected(body: Object, selector: str) -> bool:
    labels = body["metadata"].get("labels", {})
    for condition in filter(None, re.split(r",(?![^()]*\))", selector)):
        if condition.startswith("!"):
            fits = condition[1:] not in labels
        elif (among := re.fullmatch(r"(\S+) in \((.*)\)", condition)) is not None:
            fits = labels.get(among[1]) in among[2].split(",")
        elif "!=" in condition:
            name, value = condition.split("!=")
            fits = labels.get(name) != value
        else:
            name, value = re.split("==?", condition)
            fits = labels.get(name) == value
        if not fits:
            return False
    return True


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    cluster: Kubernetes
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _way(self) -> tuple[str, str | None, dict[str, str]]:
        parts = urlsplit(self.path)
        found = _PATH.fullmatch(parts.path)
        kind = "" if found is None else found["kind"]
        asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return kind if kind in _KINDS else "", found and found["name"], asked

    def _body(self) -> Object:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.loads(text) if text else {}

    def _answer(self, body: Object | None, code: int = 200) -> None:
        if body is None:
            code = 404
            body = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "reason": "NotFound",
                "code": 404,
            }
        written = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def do_GET(self) -> None:
        kind, name, asked = self._way()
        if not kind:
            self._answer(None)
        elif asked.get("watch") == "true":
            if self.headers.get("Upgrade"):  # no WebSockets here: the client then asks for a stream
                self._answer({"kind": "Status", "apiVersion": "v1", "code": 503}, 503)
            else:
                self._stream(kind, asked.get("labelSelector", ""))
        elif name is not None:
            self._answer(self.cluster.get(kind, name))
        else:
            self._answer(self.cluster.listed(kind, asked.get("labelSelector", "")))

    def _stream(self, kind: str, selector: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in self.cluster.watch(kind, selector):
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def do_POST(self) -> None:
        kind, _, _ = self._way()
        body = self._body()
        self._answer(self.cluster.create(kind, body) if kind else None, 201)

    def do_PATCH(self) -> None:
        kind, name, _ = self._way()
        body = self._body()
        self._answer(
            self.cluster.change(kind, name, body if isinstance(body, dict) else {}) if kind and name else None
        )

    def do_DELETE(self) -> None:
        kind, name, asked = self._way()
        self._body()
        if not kind:
            self._answer(None)
        elif name is not None:
            self._answer(self.cluster.delete(kind, name))
        else:
            for one in self.cluster.listed(kind, asked.get("labelSelector", ""))["items"]:
                self.cluster.delete(kind, one["metadata"]["name"])
            self._answer({"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 200})
