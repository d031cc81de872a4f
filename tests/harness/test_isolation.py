"""What a side must not be able to do, tried from inside its sandbox in every arrangement there is.

The processes are real and confined as a side is, but carry no torch: each tries one thing and
prints what came of it.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness.devices.cpu import CpuDevice
from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import escape_attempts, isolation, sandboxes, user_ids, visible_files
from benchmarks.harness.sides.sandboxes import Arrangement, Sandbox

ROOT = Path(__file__).parents[2]
FULL_AS_ROOT = sandboxes._AS_ROOT[0]
WITHOUT_PROCESS_IDS = Arrangement(namespaces=("net", "mount"), own_user=True, own_view=True)
GUARDED = sandboxes._AS_ROOT[1:3]
# Of x86_64, as the tests' machines are: the C library has no names for them.
ADD_KEY, KEYCTL = 248, 250
UNLINK, SESSION_KEYRING = 9, -3
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None,
    reason="users and namespaces of their own need root and util-linux",
)

Inside = Callable[..., Any]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A run's folder, where the referee puts it."""
    with tempfile.TemporaryDirectory(prefix="twofold-test-") as made:
        path = Path(made)
        (path / "candidate.py").write_text("def run(prepared, inputs, out): ...\n")
        # As a run's own: what a side passes through, it cannot list.
        path.chmod(0o711)
        yield path


@pytest.fixture(params=[FULL_AS_ROOT, WITHOUT_PROCESS_IDS], ids=["all", "no-process-ids"])
def sandbox(request: pytest.FixtureRequest, folder: Path, first_user: int) -> Sandbox:
    return made_sandbox(request.param, folder, first_user)


@pytest.fixture
def first_user() -> Iterator[int]:
    """The first of a test's two users, as a run has them."""
    with user_ids.reserved() as first:
        yield first


def made_sandbox(
    arrangement: Arrangement, folder: Path, first_user: int, role: str = "candidate"
) -> Sandbox:
    candidate = folder / "candidate.py"
    found = sandboxes._sandboxes(
        arrangement, folder=folder, candidate=candidate, cuda=False, first_user=first_user
    )
    return {str(key): value for key, value in found.items()}[role]


@pytest.fixture
def inside(sandbox: Sandbox, folder: Path) -> Inside:
    """`inside("expression or statements")`: what `answer` was at the end, tried in the sandbox."""

    def run(code: str, *, within: Sandbox = sandbox, **names: Any) -> Any:
        process = started(within, folder, code, **names)
        assert process.stdout is not None
        # Not to the end of the stream: what a side left behind would hold it open.
        line = process.stdout.readline()
        process.wait(timeout=30)
        within.end_leftovers()
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors.decode()
        return json.loads(line)

    return run


def started(sandbox: Sandbox, folder: Path, code: str, **names: Any) -> subprocess.Popen[bytes]:
    scratch = folder / f"scratch{time.monotonic_ns()}"
    sandbox.make_scratch(scratch)
    lines = ["import errno, json, os, socket, sys, time", *code.strip("\n").splitlines()]
    # `tried` tells an error by its name, so that a test says which refusal it expects.
    prelude = (
        "def tried(what):\n"
        "    try:\n"
        "        what()\n"
        "    except OSError as error:\n"
        "        return errno.errorcode.get(error.errno, str(error))\n"
        "    return 'done'\n"
    )
    values = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    program = prelude + values + "\n".join(lines) + "\nprint(json.dumps(answer), flush=True)"
    inner = [sys.executable, "-I", "-S", "-c", program]
    return subprocess.Popen(
        sandbox.command(inner, scratch=scratch),
        cwd=scratch,
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


REFUSED = {"EACCES", "EPERM", "ENOENT", "EROFS", "ESRCH"}


def test_everything_a_run_may_insist_on_is_in_force_here(folder: Path, first_user: int) -> None:
    candidate = folder / "candidate.py"
    made = sandboxes.prepare(folder=folder, candidate=candidate, arena=None, first_user=first_user)
    held = isolation.in_force(CpuDevice(), made)
    assert [name for name in isolation.FULL if not held[name]] == []
    assert made.refused == ()


def test_the_referee_cannot_be_read(inside: Inside) -> None:
    answer = inside(
        "parts = ['environ', 'mem', 'maps', 'fd', 'cwd', 'root']\n"
        "look = lambda part: (os.listdir if part == 'fd' else os.readlink\n"
        "    if part in ('cwd', 'root') else lambda path: open(path, 'rb').read(1))\n"
        "answer = [tried(lambda: look(part)(f'/proc/{referee}/{part}')) for part in parts]",
        referee=os.getpid(),
    )
    assert set(answer) <= REFUSED


def test_the_referee_and_the_other_side_cannot_be_signalled(
    inside: Inside, folder: Path, sandbox: Sandbox, first_user: int
) -> None:
    other = made_sandbox(sandbox.arrangement, folder, first_user, "baseline")
    waiting = started(replace(other, user=sandbox.user + 1), folder, "time.sleep(60); answer = 0")
    answer = inside(
        "answer = [tried(lambda: os.kill(pid, 9)) for pid in pids]",
        pids=[os.getpid(), os.getppid(), waiting.pid],
    )
    assert set(answer) <= REFUSED
    assert waiting.poll() is None
    waiting.kill()
    waiting.communicate()


def test_no_socket_leads_anywhere(inside: Inside, folder: Path) -> None:
    """Neither a database's port nor its socket file, which anybody may open outside."""
    port, abstract = socket.socket(), socket.socket(socket.AF_UNIX)
    file = socket.socket(socket.AF_UNIX)
    with port, abstract, file, tempfile.TemporaryDirectory() as elsewhere:
        port.bind(("127.0.0.1", 0))
        port.listen()
        abstract.bind("\0twofold-database")
        abstract.listen()
        path = f"{elsewhere}/.s.PGSQL.5432"
        file.bind(path)
        file.listen()
        os.chmod(elsewhere, 0o755)
        os.chmod(path, 0o777)
        answer = inside(
            "unix = lambda: socket.socket(socket.AF_UNIX)\n"
            "tcp = lambda: socket.socket()\n"
            "answer = [tried(lambda: tcp().connect(('127.0.0.1', port))),\n"
            "          tried(lambda: tcp().connect(('192.0.2.1', 80))),\n"
            "          tried(lambda: unix().connect('\\0twofold-database')),\n"
            "          tried(lambda: unix().connect(path))]",
            port=port.getsockname()[1],
            path=path,
        )
    assert answer == ["ENETUNREACH", "ENETUNREACH", "ECONNREFUSED", "ENOENT"]


def test_no_code_and_no_record_can_be_written(inside: Inside, folder: Path) -> None:
    record = folder / "record.json"
    record.write_text("{}")
    targets = [
        *(f"{path}/planted.py" for path in visible_files.code()),
        str(folder / "candidate.py"),
    ]
    targets += [str(record), "/usr/lib/planted.so", "/etc/ld.so.preload", f"{ROOT}/planted.py"]
    answer = inside(
        "answer = [tried(lambda: open(path, 'a').write('x')) for path in paths]", paths=targets
    )
    assert set(answer) <= REFUSED
    assert not any(Path(path).exists() for path in targets if "planted" in path)


def test_a_read_only_view_does_not_rest_on_the_rights_of_files(
    folder: Path, tmp_path: Path, first_user: int
) -> None:
    open_to_all = tmp_path / "operators"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    sandbox = made_sandbox(FULL_AS_ROOT, folder, first_user)
    sandbox = replace(sandbox, shown=(*sandbox.shown, str(open_to_all)))
    process = started(
        sandbox,
        folder,
        "answer = tried(lambda: open(f'{path}/planted.py', 'w'))",
        path=str(open_to_all),
    )
    assert json.loads(process.communicate(timeout=30)[0]) == "EROFS"


def test_only_what_was_shown_is_there(inside: Inside, folder: Path) -> None:
    with tempfile.NamedTemporaryFile(prefix="somebody-elses-") as other:
        os.chmod(other.name, 0o644)
        answer = inside(
            "answer = {'temporary': os.listdir('/tmp'), 'top': os.listdir('/'),\n"
            "          'theirs': os.path.exists(path), 'checkout': os.listdir(checkout)}",
            path=other.name,
            checkout=str(ROOT),
        )
    # A checkout may itself lie in the temporary folder.
    checkouts = {ROOT.relative_to("/tmp").parts[0]} if ROOT.is_relative_to("/tmp") else set()
    assert set(answer["temporary"]) - checkouts == {folder.name}
    assert not answer["theirs"]
    assert {"var", "run", "home", "srv", "boot"} & set(answer["top"]) == set()
    # The site's database, secret and records lie in the checkout's .twofold.
    assert set(answer["checkout"]) <= {"benchmarks", "kernels", ".venv", "tests"}


def test_the_sides_share_no_cache(inside: Inside, sandbox: Sandbox, folder: Path) -> None:
    other = folder / "baseline.cache"
    assert inside("answer = tried(lambda: os.listdir(path))", path=str(other)) in REFUSED
    keep = "answer = tried(lambda: open(f'{path}/kernel.so', 'w').write('compiled'))"
    assert inside(keep, path=str(sandbox.cache)) == "done"
    assert (
        inside("answer = open(f'{path}/kernel.so').read()", path=str(sandbox.cache)) == "compiled"
    )


def test_compiled_code_is_in_a_private_folder(tmp_path: Path) -> None:
    first, second = (
        isolation.side_environment(scratch=tmp_path / "s", cache=tmp_path / "c", threads=1)
        for _ in range(2)
    )
    for name, value in first.items():
        if "CACHE" in name or "WORKSPACE" in name:
            assert Path(value).is_relative_to(tmp_path / "c"), name
    # CuTe's compiler kept what it made in /tmp/$USER, and did not ask for TMPDIR.
    assert "CUTE_DSL_CACHE_DIR" in first
    assert first["USER"] != second["USER"]
    assert {name: first[name] for name in first if name != "USER"} == {
        name: second[name] for name in second if name != "USER"
    }


def test_rights_cannot_be_won_back(inside: Inside) -> None:
    answer = inside(
        "import subprocess\n"
        "answer = [tried(lambda: os.setuid(0)), tried(lambda: os.chroot('/usr')),\n"
        "          tried(lambda: os.setgroups([0])), tried(lambda: os.nice(-5)),\n"
        "          subprocess.run(['/usr/bin/unshare', '--net', 'true'],\n"
        "                         capture_output=True).returncode != 0,\n"
        "          subprocess.run(['/usr/bin/mount', '-o', 'remount,rw', '/'],\n"
        "                         capture_output=True).returncode != 0]"
    )
    assert answer == ["EPERM", "EPERM", "EPERM", "EPERM", True, True]


def test_no_key_of_the_referees_session_is_handed_on(inside: Inside) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.syscall(ADD_KEY, b"user", b"twofold:test", b"secret", 6, SESSION_KEYRING)
    if key < 0:
        pytest.skip(f"no keys here: {os.strerror(ctypes.get_errno())}")
    try:
        answer = inside(
            "import ctypes\n"
            "libc = ctypes.CDLL(None)\n"
            "answer = [libc.syscall(keyctl, 11, key, None, 0),\n"
            "          libc.syscall(keyctl, 10, -3, b'user', b'twofold:test', 0),\n"
            "          libc.syscall(keyctl, 0, -3, 0) != session]",
            keyctl=KEYCTL,
            key=key,
            session=escape_attempts.session_keyring(),
        )
    finally:
        libc.syscall(KEYCTL, UNLINK, key, SESSION_KEYRING)
    assert answer == [-1, -1, True]


def test_a_fork_bomb_meets_a_limit(inside: Inside, sandbox: Sandbox) -> None:
    few = replace(sandbox, limits={**sandbox.limits, "RLIMIT_NPROC": 20})
    count, refusal = inside(
        "started = 0\n"
        "def bomb():\n"
        "    global started\n"
        "    while started < 1000:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(60)\n"
        "        started += 1\n"
        "answer = [tried(bomb), started][::-1]",
        within=few,
    )
    assert refusal == "EAGAIN"
    assert 0 < count <= 20
    assert processes_of(sandbox.user) == []


def test_nothing_outlives_its_sandbox(inside: Inside, sandbox: Sandbox) -> None:
    answer = inside(
        "import signal\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
        "answer = 'left one behind'"
    )
    assert answer == "left one behind"
    assert processes_of(sandbox.user) == []


def test_a_full_scratch_folder_is_the_sides_own_trouble(
    inside: Inside, sandbox: Sandbox, folder: Path
) -> None:
    small = replace(sandbox, scratch_bytes=1 << 20)
    free = shutil.disk_usage(folder).free
    fill = "answer = tried(lambda: open('filler', 'wb').write(b'x' * (4 << 20)))"
    assert inside(fill, within=small) == "ENOSPC"
    assert shutil.disk_usage(folder).free > free - (1 << 28)
    assert inside("answer = os.listdir('.')") == []


def test_the_oom_killer_chooses_the_candidate_then_the_baseline(
    inside: Inside, sandbox: Sandbox, folder: Path, first_user: int
) -> None:
    # Memory that no limit counts, such as a memfd's, must not end the other side's run.
    baseline = made_sandbox(sandbox.arrangement, folder, first_user, "baseline")
    asked = "answer = [open(path).read().strip(), tried(lambda: os.write(os.open(path, 1), b'0'))]"
    for within, expected in ((sandbox, "1000"), (baseline, "500")):
        score, refusal = inside(asked, within=within, path="/proc/self/oom_score_adj")
        assert score == expected
        assert refusal in REFUSED


def test_one_file_can_only_grow_so_far(inside: Inside, sandbox: Sandbox) -> None:
    short = replace(sandbox, limits={**sandbox.limits, "RLIMIT_FSIZE": 1 << 20})
    code = (
        "import signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "handle = os.open(f'{path}/filler', os.O_CREAT | os.O_WRONLY)\n"
        "os.write(handle, b'x' * (1 << 20))\n"
        "answer = tried(lambda: os.write(handle, b'x'))"
    )
    assert inside(code, within=short, path=str(sandbox.cache)) == "EFBIG"


def test_an_ordinary_user_confines_by_a_user_namespace() -> None:
    python = "/usr/bin/python3"
    if not Path(python).exists() or Path("/proc/sys/user/max_user_namespaces").read_text() == "0":
        pytest.skip("needs a Python outside root's home, and user namespaces")
    code = (
        "import json, tempfile; from pathlib import Path\n"
        "from benchmarks.harness.sides import sandboxes\n"
        "with tempfile.TemporaryDirectory() as made:\n"
        "    (Path(made) / 'candidate.py').touch()\n"
        "    found = sandboxes.prepare(folder=Path(made), candidate=Path(made) / 'candidate.py',\n"
        "                              arena=None, first_user=61184)\n"
        "print(json.dumps([found.found, found.refused]))"
    )
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    ran = subprocess.run(
        [*nobody, python, "-B", "-c", code],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found, refused = json.loads(ran.stdout)
    if refused:
        pytest.skip(f"no user namespace here: {refused[0]}")
    # Outside it is still the referee's own user: that is what the record must not hide.
    assert {name for name, held in found.items() if not held} == {"unprivileged_user"}


def test_machines_with_and_without_isolation_are_distinguished(
    folder: Path, first_user: int
) -> None:
    sandbox = made_sandbox(Arrangement(), folder, first_user)
    found = sandboxes._try(sandbox, folder=folder, arena=None)
    assert isinstance(found, dict)
    assert not found["unprivileged_user"]
    assert not found["no_network"]
    assert not found["files_hidden"]
    made = sandboxes.Sandboxes(
        by_role={"candidate": sandbox}, found=found, refused=("mount: refused",)
    )
    with pytest.raises(SetupError, match=r"no_network.*mount: refused"):
        isolation.require(isolation.FULL, CpuDevice(), made)
    isolation.require((), CpuDevice(), made)


@pytest.mark.parametrize("arrangement", GUARDED, ids=["process-ids", "no-process-ids"])
def test_where_the_machines_root_is_kept_the_code_is_read_only_all_the_same(
    folder: Path, arrangement: Arrangement, first_user: int
) -> None:
    """What CUDA is measured in, where it does not start in a root folder of its own."""
    found = sandboxes._try(made_sandbox(arrangement, folder, first_user), folder=folder, arena=None)
    assert isinstance(found, dict), found
    missing = {name for name, held in found.items() if not held}
    assert missing == {"files_hidden"} | (
        set() if arrangement.own_process_ids else {"own_process_ids"}
    )


def test_an_unknown_protection_is_refused_with_the_known_ones() -> None:
    assert isolation.required("all") == isolation.FULL
    assert set(isolation.required("acceptance")) < set(isolation.FULL)
    assert isolation.required("") == ()
    assert isolation.required("no_network, read_only_code") == ("no_network", "read_only_code")
    with pytest.raises(SetupError, match=r"moat.*no_network"):
        isolation.required("moat")


def processes_of(user: int) -> list[int]:
    """Processes of that user which still run, a moment later at most."""
    deadline = time.monotonic() + 5
    while True:
        left = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    mine = entry.stat().st_uid == user
                    ended = "\nState:\tZ" in (entry / "status").read_text()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if mine and not ended:
                    left.append(int(entry.name))
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)
