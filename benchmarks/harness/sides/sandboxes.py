"""The sandbox of a side: user, namespaces, visible files and limits.

util-linux's `unshare` and `setpriv` run `confine.py`. Machines allow different arrangements, so
each is tried, strictest first, by a process that attempts to escape; its results are recorded.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from benchmarks.harness.failures import ROLES, Role
from benchmarks.harness.sides import escape_attempts, visible_files

_RANDOM = random.SystemRandom()
_HERE = Path(__file__).resolve().parent
_TRIAL_LIMIT_S = 60.0
_SCRATCH_BYTES = 2 << 30
# Short of memory, the kernel ends the candidate, which may have taken it where no limit counts it,
# before the baseline, and both before anything else.
_OOM_SCORES: dict[Role, int] = {"baseline": 500, "candidate": 1000}
_LIMITS = {
    "RLIMIT_CORE": 0,
    "RLIMIT_FSIZE": 1 << 30,
    "RLIMIT_NOFILE": 4096,
    # Threads count too; torch, Triton and Inductor start some per core.
    "RLIMIT_NPROC": 2048,
}


@dataclass(frozen=True, kw_only=True)
class Arrangement:
    """A way to confine a side.

    `namespaces` are unshare's names; `own_user` gives the side its own user, which needs root. With
    a mount namespace, the side gets a root folder of its visible files only (`own_view`), or the
    machine's with the code read-only.
    """

    namespaces: tuple[str, ...] = ()
    own_user: bool = False
    own_view: bool = False

    @property
    def guarded(self) -> bool:
        """Whether the side keeps the machine's root folder, with the code read-only."""
        return "mount" in self.namespaces and not self.own_view

    @property
    def own_process_ids(self) -> bool:
        """Whether the side sees only its own processes, which all end with its first."""
        return "pid" in self.namespaces


_ALL = ("net", "ipc", "uts", "mount", "pid")
_WITHOUT_PROCESS_IDS = _ALL[:-1]
# Strictest first. On an H200, CUDA did not start in its own root folder (error 304).
_AS_ROOT = (
    Arrangement(namespaces=_ALL, own_user=True, own_view=True),
    Arrangement(namespaces=_ALL, own_user=True),
    Arrangement(namespaces=_WITHOUT_PROCESS_IDS, own_user=True),
    Arrangement(namespaces=("net", "ipc"), own_user=True),
    Arrangement(namespaces=("net",), own_user=True),
    Arrangement(own_user=True),
    Arrangement(),
)
_AS_OTHERS = (
    Arrangement(namespaces=("user", *_ALL), own_view=True),
    Arrangement(namespaces=("user", *_ALL)),
    Arrangement(namespaces=("user", *_WITHOUT_PROCESS_IDS)),
    Arrangement(namespaces=("user", "net")),
    Arrangement(),
)


class SandboxError(RuntimeError):
    """No arrangement works on this machine."""


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """The sandbox of one role's processes throughout a run."""

    arrangement: Arrangement
    user: int
    cache: Path
    shown: tuple[str, ...]
    devices: tuple[str, ...]
    scratch_bytes: int = _SCRATCH_BYTES
    loopback: bool = False
    """Whether the side's own network has a loopback, by which its processes reach each other."""
    children_counted: bool = False
    """Whether its processor time is judged, so that its children's must be counted."""
    oom_score: int = _OOM_SCORES["candidate"]
    limits: dict[str, int] = field(default_factory=lambda: dict(_LIMITS))

    def make_scratch(self, folder: Path) -> None:
        """Create an empty folder owned by the side."""
        folder.mkdir(mode=0o700)
        self._own(folder)

    def make_cache(self) -> None:
        """Create the folder for compiled kernels, which outlives a process but not the run."""
        self.cache.mkdir(mode=0o700, exist_ok=True)
        self._own(self.cache)

    def apart(self, cache: Path) -> Self:
        """The same sandbox with an empty cache."""
        other = replace(self, cache=cache)
        other.make_cache()
        return other

    def _own(self, folder: Path) -> None:
        if self.arrangement.own_user:
            os.chown(folder, self.user, self.user)

    def end_leftovers(self) -> None:
        """Kill all processes of the side's user, in any session."""
        if self.arrangement.own_user and not self.arrangement.own_process_ids:
            # A single call, because a process that forks could escape several.
            everyone = "import os; os.kill(-1, 9)"
            options = ["--reuid", str(self.user), "--regid", str(self.user), "--clear-groups"]
            python = [sys.executable, "-I", "-S", "-c", everyone]
            subprocess.run(
                [_program("setpriv"), *options, *python],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )

    def command(self, inner: list[str], *, scratch: Path) -> list[str]:
        """The command line of `inner` in the sandbox; `make_scratch` created `scratch`."""
        if shutil.which("setpriv") is None:
            return self._confined(inner, scratch)
        # Dies with the referee, and passes that on by `--kill-child`.
        outer = [_program("setpriv"), "--pdeathsig", "KILL"]
        return [*outer, *self._unshared(), *self._confined(self._lowered(inner), scratch)]

    def _unshared(self) -> list[str]:
        names = self.arrangement.namespaces
        if not names:
            return []
        options = [f"--{name}" for name in names]
        if "user" in names:
            options.append("--map-root-user")
        if self.arrangement.own_process_ids:
            options += ["--fork", "--kill-child"]
        return [_program("unshare"), *options]

    def _confined(self, inner: list[str], scratch: Path) -> list[str]:
        root = scratch.with_name(f"{scratch.name}.root")
        if self.arrangement.own_view:
            root.mkdir(mode=0o755, exist_ok=True)
        spec = {
            "root": str(root) if self.arrangement.own_view else None,
            "guarded": visible_files.code() if self.arrangement.guarded else None,
            "shown": self.shown,
            "written": [str(self.cache)],
            "scratch": str(scratch),
            "scratch_bytes": self.scratch_bytes,
            "user": self.user if self.arrangement.own_user else 0,
            "devices": self.devices,
            "own_process_ids": self.arrangement.own_process_ids,
            "group": None,
            "loopback": self.loopback and "net" in self.arrangement.namespaces,
            "children_counted": self.children_counted,
            "oom_score": self.oom_score,
            "limits": self.limits,
        }
        return [sys.executable, "-I", "-S", str(_HERE / "confine.py"), json.dumps(spec), *inner]

    def _lowered(self, inner: list[str]) -> list[str]:
        options = ["--no-new-privs"]
        if self.arrangement.own_user:
            own = str(self.user)
            options += ["--reuid", own, "--regid", own, "--clear-groups"]
        if self.arrangement.own_user or "user" in self.arrangement.namespaces:
            options += ["--inh-caps=-all", "--bounding-set=-all"]
        return [_program("setpriv"), *options, *inner]


@dataclass(frozen=True, kw_only=True)
class Sandboxes:
    """Both sides' sandboxes, and the protections found in force."""

    by_role: dict[Role, Sandbox]
    found: dict[str, bool]
    refused: tuple[str, ...]
    """The errors of the stricter arrangements."""


def prepare(
    *,
    folder: Path,
    candidate: Path,
    arena: str | None,
    first_user: int,
    loopback: bool = False,
) -> Sandboxes:
    """Set up sandboxes for a run below `folder`, in the strictest arrangement that works.

    `arena` is a CUDA memory handle that a side must be able to open; the sides' users are
    `first_user` and the next. `loopback`: see Sandbox. Raises SandboxError when no arrangement
    works.
    """
    # A side without its own root folder passes through here to its scratch folder.
    folder.chmod(0o711)
    refused: list[str] = []
    for arrangement in _arrangements():
        try:
            sandboxes = _sandboxes(
                arrangement,
                folder=folder,
                candidate=candidate,
                cuda=arena is not None,
                first_user=first_user,
                loopback=loopback,
            )
            trial = _try(sandboxes["candidate"], folder=folder, arena=arena)
        except OSError as error:
            # For example, a container without such users.
            trial = str(error)
        if isinstance(trial, dict):
            return Sandboxes(by_role=sandboxes, found=trial, refused=tuple(refused))
        refused.append(trial)
    raise SandboxError(f"no sandbox works on this machine: {refused[-1]}")


def _arrangements() -> tuple[Arrangement, ...]:
    if shutil.which("setpriv") is None or shutil.which("unshare") is None:
        return (Arrangement(),)
    return _AS_ROOT if os.geteuid() == 0 else _AS_OTHERS


def _sandboxes(
    arrangement: Arrangement,
    *,
    folder: Path,
    candidate: Path,
    cuda: bool,
    first_user: int,
    loopback: bool = False,
) -> dict[Role, Sandbox]:
    sandboxes: dict[Role, Sandbox] = {}
    for offset, role in enumerate(ROLES):
        shown = visible_files.shown([candidate] if role == "candidate" else [])
        sandboxes[role] = Sandbox(
            arrangement=arrangement,
            user=first_user + offset if arrangement.own_user else os.geteuid(),
            cache=folder / f"{role}.cache",
            shown=tuple(shown),
            devices=tuple(visible_files.devices(cuda=cuda)),
            loopback=loopback,
            children_counted=not cuda,
            oom_score=_OOM_SCORES[role],
        )
    for sandbox in sandboxes.values():
        sandbox.make_cache()
    return sandboxes


def _try(sandbox: Sandbox, *, folder: Path, arena: str | None) -> dict[str, bool] | str:
    """The protections found in force, or why the arrangement does not work."""
    scratch = folder / f"trial.{_RANDOM.randrange(1 << 32):x}"
    secret = folder / "referee.secret"
    secret.touch(mode=0o600)
    sandbox.make_scratch(scratch)
    asked = {
        "referee": os.getpid(),
        "process_ids": os.readlink("/proc/self/ns/pid"),
        "network": os.readlink("/proc/self/ns/net") if sandbox.loopback else None,
        "code": visible_files.code(),
        "secret": str(secret),
        "user": sandbox.user if sandbox.arrangement.own_user else None,
        "scratch_bytes": sandbox.scratch_bytes,
        "arena": arena,
        "keyring": escape_attempts.session_keyring(),
    }
    # Only CUDA's bindings need site-packages.
    program = [sys.executable, "-P", *(["-S"] if arena is None else [])]
    inner = [*program, str(_HERE / "escape_attempts.py"), json.dumps(asked)]
    try:
        ended = subprocess.run(
            sandbox.command(inner, scratch=scratch),
            cwd=scratch,
            env=trial_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TRIAL_LIMIT_S,
            check=False,
        )
        answer: Any = json.loads(ended.stdout) if ended.returncode == 0 else None
    except (subprocess.TimeoutExpired, OSError, json.JSONDecodeError) as error:
        return f"{', '.join(sandbox.arrangement.namespaces) or 'no namespace'}: {error}"
    if answer is None:
        last = (ended.stderr.strip().splitlines() or [f"status {ended.returncode}"])[-1]
        return f"{', '.join(sandbox.arrangement.namespaces) or 'no namespace'}: {last[:300]}"
    return {name: bool(held) for name, held in answer.items()}


def trial_environment() -> dict[str, str]:
    """The paths of programs and libraries, nothing else."""
    names = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES")
    return {name: os.environ[name] for name in names if name in os.environ}


def _program(name: str) -> str:
    """The full path of a program, valid in the side's root folder, too."""
    found = shutil.which(name)
    if found is None:
        raise SandboxError(f"util-linux's {name} is not installed here")
    return found
