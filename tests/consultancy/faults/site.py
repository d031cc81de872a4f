"""A site of real processes, as `manage.py up` starts them, and people who use it by HTTP."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from celery import Celery
from django.conf import settings
from django.test import Client
from django.urls import reverse
from prometheus_client.parser import text_string_to_metric_families

from consultancy import processes
from engagements.people.models import User
from tests import referee_key
from tests.benchmarks.conftest import pretended
from tests.consultancy.faults.parts import Parts, free_port
from tests.consultancy.settings_loader import ROOT
from tests.engagements.sessions import sign_in

LIMITS = {"lease_s": 3.0, "beat_s": 0.3, "progress_every_s": 0.2, "resend_after_s": 2.0}
METRICS_TOKEN = "metrics"
START_S = 60.0
# The connection fails, or the site answers that it cannot serve: what a proxy answers with 502.
NO_ANSWER = 502


@dataclass
class Site:
    """The processes of one site. `record` is the file that every measuring process waits for."""

    folder: Path
    parts: Parts
    port: int = field(default_factory=free_port)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    sessions: dict[int, str] = field(default_factory=dict)
    clock: Path | None = None

    @property
    def record(self) -> Path:
        """Where a test puts the record that a run is to hand in."""
        return self.folder / "record"

    def log(self, name: str) -> str:
        """Everything that a process and those before it wrote."""
        file = self.folder / f"{name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def start(self, name: str) -> None:
        """Start web, gpu, documents, beat, or `worker`: one that serves all queues."""
        commands = processes.commands(host="127.0.0.1", port=self.port)
        commands["worker"] = commands["gpu"].replace("-Q gpu", "-Q gpu,documents,default")
        with (self.folder / f"{name}.log").open("ab") as output:
            self.running[name] = subprocess.Popen(
                ["sh", "-c", commands[name]],
                cwd=ROOT,
                env=self._environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """SIGKILL a process with its children, as when its machine fails."""
        process = self.running.pop(name)
        family = [psutil.Process(process.pid)]
        family += family[0].children(recursive=True)
        for each in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGKILL)
        process.wait(timeout=10)

    def kill_child(self, name: str) -> None:
        """SIGKILL a process that the named one started, if there is one."""
        for child in psutil.Process(self.running[name].pid).children()[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.send_signal(signal.SIGKILL)

    def restart_ended(self) -> None:
        """Start the processes that ended, as a container's restart policy does."""
        for name in [name for name, process in self.running.items() if process.poll() is not None]:
            self.start(name)

    def sweep(self) -> None:
        """Enqueue what beat enqueues."""
        broker: Any = Celery(broker=self.parts.broker_url, set_as_current=False)
        for task in ("benchmarks.tasks.sweep", "engagements.tasks.sweep"):
            broker.send_task(task, queue="documents", expires=30)
        broker.close()

    def get(self, path: str, *, by: User | None = None, **headers: str) -> httpx.Response:
        """Request a page."""
        return self._request("GET", path, by, headers=headers)

    def post(self, path: str, *, by: User, **more: Any) -> int:
        """Submit a form; the status, NO_ANSWER where the connection broke."""
        try:
            return self._request("POST", path, by, **more).status_code
        except httpx.HTTPError:
            return NO_ANSWER

    def health(self) -> dict[str, Any]:
        """What /healthz answers; empty when it does not."""
        try:
            answer: dict[str, Any] = self.get("/healthz?workers").json()
        except (httpx.HTTPError, json.JSONDecodeError):
            return {}
        return answer

    def metrics(self) -> dict[str, float]:
        """What Prometheus reads, by name and label: `twofold_part_up database`."""
        page = self.get("/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
        families = text_string_to_metric_families(page.text)
        return {
            " ".join((sample.name, *sample.labels.values())): sample.value
            for family in families
            for sample in family.samples
        }

    def _request(self, method: str, path: str, by: User | None, **more: Any) -> httpx.Response:
        headers = {"X-CSRFToken": "c" * 32, **more.pop("headers", {})}
        cookies = {"csrftoken": "c" * 32}
        if by is not None:
            cookies["sessionid"] = self.sessions[by.pk]
        base = f"http://127.0.0.1:{self.port}"
        with httpx.Client(base_url=base, cookies=cookies, timeout=40, trust_env=False) as client:
            return client.request(method, path, headers=headers, **more)

    def sign_in(self, *people: User) -> None:
        """Sign people in anew: steps with money need a sign-in of the last minutes."""
        for person in people:
            browser = Client()
            sign_in(browser, person)
            self.sessions[person.pk] = browser.cookies["sessionid"].value

    def _environment(self) -> dict[str, str]:
        given = processes.environment(
            self.folder, port=self.port, signing_key=referee_key.KEY_FILE
        ) | {
            **self.parts.environment,
            "DJANGO_SETTINGS_MODULE": "tests.consultancy.faults.site_settings",
            "TEST_RUN_LIMITS": json.dumps(LIMITS),
            "TEST_HARNESS_COMMAND": json.dumps(pretended(f"measure={self.record}")),
            "TWOFOLD_HOME": str(self.folder),
            # So that this process's sessions are the site's.
            "TWOFOLD_SECRET_KEY": settings.SECRET_KEY,
            "TWOFOLD_METRICS_TOKEN": METRICS_TOKEN,
        }
        given.pop("PYTHONDONTWRITEBYTECODE", None)
        if self.clock is not None:
            given["TEST_CLOCK"] = str(self.clock)
        return given


@contextmanager
def running(folder: Path, parts: Parts, names: Iterable[str], **more: Any) -> Iterator[Site]:
    """A site with these processes; killed at the end."""
    site = Site(folder, parts, **more)
    try:
        for name in names:
            site.start(name)
        until(lambda: site.health().get("workers", {}).get("documents") == 1, START_S)
        yield site
    finally:
        for name in list(site.running):
            site.kill(name)


def until(
    true: Callable[[], object], limit_s: float = 30.0, *, doing: Callable[[], object] | None = None
) -> None:
    """Wait for `true`, calling `doing` at once and every second."""
    deadline, next_at = time.monotonic() + limit_s, 0.0
    while not true():
        assert time.monotonic() < deadline, "not in time"
        if doing is not None and time.monotonic() > next_at:
            doing()
            next_at = time.monotonic() + 1
        time.sleep(0.1)


def url(name: str, *arguments: object) -> str:
    """The path of a page."""
    return reverse(name, args=arguments)
