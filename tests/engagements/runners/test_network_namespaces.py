"""A runner in a network namespace of its own, with nothing but HTTPS to the site."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.db import connection

from benchmarks.models import Benchmark, Record, Run, Solution
from benchmarks.records import signatures
from benchmarks.services import benchmarks, solutions
from benchmarks.services import runs as measuring
from engagements.runners import services
from engagements.runners.models import Runner, RunnerAttempt
from engagements.runs import services as engagement_runs
from engagements.runs.pairs import measured_by, of_both
from tests.benchmarks.conftest import OPERATOR, quick_document
from tests.conftest import database_url
from tests.engagements.runners import bare_environment
from tests.engagements.runners.test_program import until
from tests.engagements.world import World

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="making a network namespace needs root"),
]
SITE, RUNNER, PORT = "10.231.77.1", "10.231.77.2", 8443


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def namespace() -> Iterator[str]:
    """A namespace whose only way out is a cable to this one."""
    name = f"tf{os.getpid()}"
    here, there = f"{name}a", f"{name}b"
    _ip("netns", "add", name)
    try:
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        _ip("address", "add", f"{SITE}/24", "dev", here)
        _ip("link", "set", here, "up")
        for words in (
            ("address", "add", f"{RUNNER}/24", "dev", there),
            ("link", "set", there, "up"),
        ):
            _ip("-n", name, *words)
        yield name
    finally:
        _ip("netns", "delete", name)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of the site's address, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SITE)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(SITE))]), False
        )
        .sign(key, hashes.SHA256())
    )
    files = folder / "site.pem", folder / "site.key"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


@dataclass
class Apart:
    """The site as a process, and runners that reach it from their namespace."""

    folder: Path
    namespace: str
    authority: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Start `twofold runner` without Django, database and broker."""
        python = self.folder / "environment" / "bin" / "python"
        files = ["--token-file", "token", "--key", "key", "--state", "state"]
        runner = [str(python), "-m", "benchmarks.harness", "runner", *files, "--poll", "0.5"]
        command = ["ip", "netns", "exec", self.namespace, *runner]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--site", f"https://{SITE}:{PORT}", *more],
                cwd=self.folder,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self.folder),
                    "SSL_CERT_FILE": str(self.authority),
                    "OMP_NUM_THREADS": "1",
                },
                stdout=log,
                stderr=log,
            )
        self.started.append(process)
        return process

    def python(self, code: str) -> subprocess.CompletedProcess[bytes]:
        """Run Python where the runner runs."""
        python = self.folder / "environment" / "bin" / "python"
        command = ["ip", "netns", "exec", self.namespace, str(python), "-c", code]
        return subprocess.run(command, capture_output=True, check=False)


@pytest.fixture
def apart(
    transactional_db: None, broker_url: str, namespace: str, tmp_path: Path
) -> Iterator[Apart]:
    """A site on the test's database, served by TLS."""
    bare_environment.python_of(tmp_path / "environment", measures=True)
    authority, key = certificate(tmp_path)
    command = [sys.executable, "-m", "gunicorn", "consultancy.wsgi", "--bind", f"{SITE}:{PORT}"]
    command += ["--certfile", str(authority), "--keyfile", str(key), "--threads", "4"]
    # Its first request imports everything, which takes long on a busy machine.
    command += ["--timeout", "300"]
    environment = os.environ | {
        "DATABASE_URL": database_url(connection.settings_dict),
        "BROKER_URL": broker_url,
        "TWOFOLD_HOSTS": SITE,
        "TWOFOLD_RECORDS_FOLDER": str(settings.STORAGES["records"]["OPTIONS"]["location"]),
    }
    with (tmp_path / "site.log").open("wb") as log:
        site = subprocess.Popen(
            command, cwd=bare_environment.ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        until(
            lambda: b"Listening at" in (tmp_path / "site.log").read_bytes(), tmp_path / "site.log"
        )
        made = Apart(tmp_path, namespace, authority)
        yield made
        # One that lives on keeps its namespace, and with it the addresses of the next test.
        for process in made.started:
            process.kill()
    finally:
        site.terminate()
        site.wait(timeout=30)


@pytest.fixture
def quick(transactional_db: None) -> tuple[Benchmark, Solution]:
    """A small benchmark for the processor, and a candidate."""
    document = quick_document()
    document["protocol"] |= {"replicates": 3, "max_replicates": 3, "rounds": 5}
    solution = solutions.from_catalogue(operator=OPERATOR, name="torch_cascade")
    return benchmarks.seal(document=document), solution


def measured(run: Run, log: Path) -> Record | None:
    """The record of the run once it has one; None where noise left no ratio."""
    until(lambda: Run.objects.get(pk=run.pk).is_concluded, log, limit_s=240)
    run.refresh_from_db()
    assert run.state == Run.State.FINISHED, (run.failure_reason, log.read_text())
    record = Record.objects.get(run=run)
    return record if record.ratio is not None else None


def test_a_runner_and_a_worker_measure_overlapping_intervals(
    apart: Apart,
    quick: tuple[Benchmark, Solution],
    celery_worker_process: Callable[..., Any],
    tmp_path: Path,
) -> None:
    for module in ("django", "celery", "psycopg", "redis"):
        assert b"ModuleNotFoundError" in apart.python(f"import {module}").stderr
    for away in ("192.0.2.1", "8.8.8.8"):
        tried = f"import socket; socket.create_connection(({away!r}, 53), 2)"
        assert b"unreachable" in apart.python(tried).stderr
    world, log = World(), tmp_path / "log"
    runner, token = services.register(name="box", customer=world.customer, by=world.signatory)
    (tmp_path / "token").write_text(token)
    key = signatures.make_key(tmp_path / "key")
    benchmark, solution = quick

    def request(measured_by: str) -> Run:
        return measuring.request(
            benchmark=benchmark,
            solution=solution,
            request_key=uuid.uuid4(),
            measured_by=measured_by,
        )

    run = request(runner.party)
    process = apart.start()
    until(lambda: Run.objects.get(pk=run.pk).progress.get("history"), log, limit_s=120)
    process.kill()
    process.wait()
    process = apart.start()
    record = measured(run, log)
    nonces = RunnerAttempt.objects.filter(run=run).order_by("pk").values_list("nonce", flat=True)
    kept = Record.objects.get(run=run)
    assert (len(nonces), kept.nonce, kept.attempt) == (2, nonces[1], 2)
    assert kept.signed_by is not None
    assert kept.signed_by.key_id == key.public.id
    runner.refresh_from_db()
    assert (runner.device, runner.device_name) == ("cpu", kept.device_name)
    # A busy machine may leave a short run without a ratio.
    tries = iter(range(4))
    while record is None and next(tries, None) is not None:
        record = measured(request(runner.party), log)
    process.terminate()
    assert process.wait(timeout=30) == 0

    worker = celery_worker_process(queues="gpu")
    other = None
    while other is None and next(tries, None) is not None:
        other = measured(request(""), worker.log)
    assert record is not None
    assert other is not None
    intervals = []
    for each in (record, other):
        assert each.low is not None
        assert each.high is not None
        intervals.append((each.low, each.high))
    (tmp_path / "intervals.json").write_text(json.dumps(intervals))
    assert max(low for low, _ in intervals) <= min(high for _, high in intervals), intervals


def test_both_parties_measure_one_request(
    apart: Apart,
    quick: tuple[Benchmark, Solution],
    celery_worker_process: Callable[..., Any],
    tmp_path: Path,
) -> None:
    world, log = World(), tmp_path / "log"
    world.benchmark, world.solution = quick
    runner, token = services.register(name="box", customer=world.customer, by=world.signatory)
    (tmp_path / "token").write_text(token)
    key = signatures.make_key(tmp_path / "key")
    process = apart.start()
    started = Runner.objects.filter(pk=runner.pk, key__isnull=False)
    until(started.exists, log, limit_s=240)
    celery_worker_process(queues="gpu")
    asked = world.request(world.active(place="both"))
    pair = Run.objects.filter(pk__in=[each.run_id for each in asked.both])
    ended = pair.filter(state__in=[Run.State.FINISHED, Run.State.FAILED])
    until(lambda: ended.count() == 2, log, limit_s=400)
    engagement_runs.conclude(run=asked)
    process.terminate()
    assert process.wait(timeout=30) == 0
    asked.refresh_from_db()
    assert asked.counterpart is not None
    ours, theirs = (Record.objects.get(run=each.run_id) for each in asked.both)
    assert ours.signed_by is not None
    assert theirs.signed_by is not None
    assert (ours.signed_by.owner, theirs.signed_by.key_id) == ("", key.public.id)
    # Two busy processors may measure differently: then they do not decide.
    decided = of_both(*(measured_by(each.run, 2.0) for each in (ours, theirs)))
    assert asked.decision == decided.decision
