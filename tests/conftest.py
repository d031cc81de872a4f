"""Fixtures of all tests: real PostgreSQL, and on request a real broker and real workers.

The database is made in the embedded server (or in the one `DATABASE_URL` names) under a
name of its own, so several test runs can share one server. Records are in a folder of the
session. By default no message is delivered, because the broker is in memory. For delivery a
test requests

- `broker_url`: a Valkey of its own for the session, with the application pointed at it;
- `celery_worker_process`: starts real workers on the test database. Such a test must
  commit: `@pytest.mark.django_db(transaction=True)`.
"""

import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

# For processes that tests start; `apart_from_the_checkout` configures this one.
os.environ["BROKER_URL"] = "memory://"
os.environ.pop("TWOFOLD_ENV", None)
# torch's threads sleep while they wait for one another, as the referee's do: on a machine with
# more test processes than processors most of their time went into spinning. Read at its import.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# One thread a process, for the referee and its sides too: every processor runs a test.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import kombu.pools
import psutil
import pytest
from django.conf import settings
from django.test import override_settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from consultancy.environment import cache_of
from tests import database_cleanup, template_database

if TYPE_CHECKING:
    from consultancy.embedded.postgres import Postgres

pytest_plugins = ["tests.chromium"]

# The time of an example depends on the load of the machine.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")
# It would parse all of the project in every test process, for constants to try.
providers._get_local_constants = Constants

ROOT = Path(__file__).resolve().parent.parent
DATABASE = "test_twofold"
# Whether the embedded server ran before this session.
SERVED = pytest.StashKey[bool]()


@pytest.fixture(scope="session", autouse=True)
def apart_from_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests away from the checkout's workers, cache and records.

    pytest-django reads the settings before any conftest, so they are overridden here.
    """
    folder = tmp_path_factory.mktemp("records")
    storage = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(folder), "base_url": None},
    }
    storages = settings.STORAGES | {"default": storage, "records": storage}
    caches = {"default": cache_of("memory://")}
    # A slow password hash would cost a second at each sign-in.
    hashers = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    changed = override_settings(STORAGES=storages, CACHES=caches, PASSWORD_HASHERS=hashers)
    with changed, database_cleanup.by_deletion():
        _point_application_at("memory://")
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Note whether the embedded server is running, in the controlling process."""
    # Imports leave no garbage; `pytest_collection_finish` enables collection again.
    gc.disable()
    if not hasattr(config, "workerinput") and (server := _embedded_server()):
        config.stash[SERVED] = server.ready()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only files that mention the markers `alone` and `soak` when these are selected."""
    selected = re.findall(r"(?<!not )\b(alone|soak)\b", config.option.markexpr)
    if not selected or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text()
    return any(f"mark.{name}" not in text for name in selected) or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests that commit, the longest ones: short tests fill the end.

    pytest-django sorts them last for a flush after each, which `database_cleanup` replaces.
    """
    items.sort(key=lambda item: not _commits(item))


def _commits(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("django_db")
    wanted = {"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
    return bool(wanted) or bool(mark and mark.kwargs.get("transaction"))


def pytest_collection_finish() -> None:
    """Exclude imported objects from garbage collection, and collect after 20,000 new ones."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server that was started for this session, unless it is in use."""
    server = _embedded_server() if config.stash.get(SERVED, True) is False else None
    # A session that stopped during collection has started no server.
    if server and server.ready():
        server.stop_if_unused()


def _embedded_server() -> "Postgres | None":
    from consultancy.embedded.place import Place
    from consultancy.embedded.postgres import Postgres

    if settings.DATABASES["default"]["ENGINE"] != "consultancy.embedded.backend":
        return None
    return Postgres(Place(Path(settings.TWOFOLD_HOME)))


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Name this process's test database after it, and drop those of runs that were killed."""
    settings.DATABASES["default"]["TEST"]["NAME"] = f"{DATABASE}_{os.getpid()}"
    if server := _embedded_server():
        server.start()
        _drop_abandoned_databases(server.url("postgres"))
        settings.DATABASES["default"]["TEST"]["TEMPLATE"] = template_database.template(server)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Seed the new test database."""
    with django_db_blocker.unblock():
        database_cleanup.seed()


def _drop_abandoned_databases(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        names = connection.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{DATABASE}%"]
        ).fetchall()
        for (name,) in names:
            owner = re.fullmatch(rf"{DATABASE}_(\d+)", name)
            if owner is None or not psutil.pid_exists(int(owner[1])):
                connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def broker_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Valkey of this session's own; the application publishes to it from now on."""
    from consultancy import celery_app
    from consultancy.embedded.place import Place
    from consultancy.embedded.valkey import Valkey

    server = Valkey(Place(tmp_path_factory.mktemp("broker")))
    server.start()
    before = celery_app.conf.broker_url
    _point_application_at(server.url)
    yield server.url
    _point_application_at(before)
    server.stop()


def _point_application_at(url: str) -> None:
    from consultancy import celery_app

    app: Any = celery_app
    settings.CELERY_BROKER_URL = url
    app.conf.broker_url = url
    app.conf.broker_write_url = app.conf.broker_read_url = None
    # Both keep connections to the broker before this one.
    kombu.pools.reset()
    app._pool = None
    app.amqp._producer_pool = None


@dataclass
class Worker:
    """A worker started by a test, with its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """SIGKILL the worker and its children, as a crash would."""
        family = [psutil.Process(self.process.pid)]
        family += family[0].children(recursive=True)
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=10)

    def kill_alone(self) -> None:
        """SIGKILL the worker's own process; its children keep running."""
        self.process.kill()
        self.process.wait(timeout=10)


@pytest.fixture
def celery_worker_process(
    transactional_db: None, broker_url: str, tmp_path: Path
) -> Iterator[Callable[..., Worker]]:
    """Start real workers on the test database and this session's broker.

    `celery_worker_process()` starts one for the queues gpu, documents and default, waits
    until it is ready and returns a `Worker`; `queues=`, `pool=` ("prefork" or "solo") and
    `environment=` (more variables) change that. It keeps records where the test looks for
    them. Whatever still runs afterwards is killed.
    """
    from django.db import connection

    from tests import referee_key

    started: list[Worker] = []
    referee_key.register()

    def start(
        *,
        queues: str = "gpu,documents,default",
        pool: str = "prefork",
        environment: dict[str, str] | None = None,
    ) -> Worker:
        log = tmp_path / f"worker-{len(started)}.log"
        variables = os.environ | {
            "DATABASE_URL": database_url(connection.settings_dict),
            "BROKER_URL": broker_url,
            "TWOFOLD_SIGNING_KEY_FILE": str(referee_key.KEY_FILE),
            "TWOFOLD_RECORDS_FOLDER": str(settings.STORAGES["records"]["OPTIONS"]["location"]),
            **(environment or {}),
        }
        command = [sys.executable, "-m", "celery", "-A", "consultancy", "worker", "-Q", queues]
        command += ["--concurrency", "1", "--pool", pool, "--loglevel", "INFO"]
        command += [
            "--without-gossip",
            "--without-mingle",
            "-n",
            f"test{os.getpid()}-{len(started)}@%h",
        ]
        with open(log, "wb") as output:
            process = subprocess.Popen(
                command, cwd=ROOT, env=variables, stdout=output, stderr=subprocess.STDOUT
            )
        worker = Worker(process=process, log=log)
        started.append(worker)
        _wait_until_ready(worker)
        return worker

    yield start
    for worker in started:
        # No test needs a graceful end here.
        if worker.process.poll() is None:
            worker.kill()


def database_url(database: dict[str, str]) -> str:
    """The URL of a database in Django's form."""
    from urllib.parse import quote

    user, password = quote(database["USER"], safe=""), quote(database["PASSWORD"], safe="")
    who = f"{user}:{password}" if password else user
    host = quote(database["HOST"], safe="")
    return f"postgresql://{who}@{host}:{database['PORT'] or 5432}/{database['NAME']}"


def _wait_until_ready(worker: Worker, limit_s: float = 30.0) -> None:
    deadline = time.monotonic() + limit_s
    while b" ready." not in worker.log.read_bytes():
        if worker.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"The worker did not start:\n{worker.log.read_text()}")
        time.sleep(0.05)
