"""Where the embedded servers of one checkout live, and who may reach them."""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import stat
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

# A unix socket's whole path must fit in sockaddr_un: 108 bytes on Linux, 104 on macOS.
SOCKET_PATH_LIMIT = 103
LONGEST_SOCKET_NAME = len("/.s.PGSQL.5432")
# PostgreSQL reads its socket directories as a list, so a path with a comma, a quote or a
# space in it would need quoting in every client too.
PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+-]+")
LOCK_WAIT_S = 120.0

_HELD: weakref.WeakSet[TextIO] = weakref.WeakSet()


def _let_go() -> None:
    # A forked child shares its parent's locks, and would hold them after the parent's death.
    for held in list(_HELD):
        held.close()


os.register_at_fork(after_in_child=_let_go)


class EmbeddedError(RuntimeError):
    """An embedded server could not be started or stopped; the text says what to do."""


@dataclass(frozen=True)
class Place:
    """The folder of one checkout's servers: `home` is `.twofold` or `TWOFOLD_HOME`."""

    home: Path

    @property
    def refuge(self) -> Path:
        """Stands in for `home` where a server's user or a socket cannot use `home` itself.

        The name follows from `home`, so every process of one checkout finds the same one
        and two checkouts never meet.
        """
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]
        return Path(f"/var/tmp/twofold-{os.geteuid()}-{digest}")  # noqa: S108 - owner checked below

    def sockets(self, service: str, *, user: pwd.struct_passwd | None = None) -> Path:
        """The directory of a service's unix socket, short enough for the system."""
        wanted = self.home / "sockets" / service
        fits = len(os.fsencode(wanted)) + LONGEST_SOCKET_NAME <= SOCKET_PATH_LIMIT
        if fits and PLAIN_PATH.fullmatch(str(wanted)) and reachable(self.home, user):
            return wanted
        return self.refuge / service

    def make(self, directory: Path, *, user: pwd.struct_passwd | None = None) -> Path:
        """Make a directory that only its owner (`user`, or this process) can enter."""
        if directory.is_relative_to(self.refuge):
            self._claim_refuge()
        else:
            self.home.mkdir(parents=True, exist_ok=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
        if user is not None:
            os.chown(directory, user.pw_uid, user.pw_gid)
        directory.chmod(0o700)
        return directory

    def _claim_refuge(self) -> None:
        # The name can be foreseen, so somebody else could have made it first.
        self.refuge.mkdir(mode=0o755, parents=True, exist_ok=True)
        found = self.refuge.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise EmbeddedError(
                f"{self.refuge} belongs to somebody else. Remove it, or set TWOFOLD_HOME to a "
                "short path that you own."
            )

    @contextlib.contextmanager
    def lock(self, service: str, *, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
        """Hold a service's lock: one process at a time starts or stops it.

        Raises EmbeddedError when another process holds it for longer than `wait_s`.

        The kernel drops the lock with its holder, so a killed run leaves none behind.
        """
        self.home.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + wait_s
        with open(self.home / f"{service}.lock", "a") as held:
            _HELD.add(held)
            while True:
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise EmbeddedError(
                            f"Another process of this checkout is busy with '{service}' "
                            f"({held.name} is locked)."
                        ) from None
                    time.sleep(0.05)
            try:
                yield
            finally:
                _HELD.discard(held)


def reachable(path: Path, user: pwd.struct_passwd | None) -> bool:
    """Whether `user` (None: whoever runs this) may walk down to `path`."""
    if user is None:
        return True
    existing = [parent for parent in (path, *path.parents) if parent.exists()]
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in existing)


def wheel(package: str) -> Path:
    """The folder of an installed package, without importing it.

    Importing would run code of the wheel that this project has no use for.
    """
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise EmbeddedError(f"{package} is not installed. Run: make install")
    return Path(found.origin).parent
