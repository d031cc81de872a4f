"""The embedded servers start when needed, are found again, and are cleanly replaced."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from consultancy.embedded.place import EmbeddedError, Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey
from tests.consultancy.starting import ROOT

START_BOTH = """
import sys
from pathlib import Path
from consultancy.embedded.place import Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey
place = Place(Path(sys.argv[1]))
print(Postgres(place).start(), Valkey(place).start())
"""


@pytest.fixture
def ground() -> Iterator[Path]:
    """A short path that every user may walk to, unlike pytest's own when root runs it."""
    folder = Path(tempfile.mkdtemp(prefix="twofold-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(ground: Path) -> Iterator[Path]:
    """A home whose servers are stopped afterwards."""
    yield ground / "home"
    stop(ground / "home")


def stop(home: Path) -> None:
    """Stop a home's servers."""
    place = Place(home)
    Postgres(place).stop()
    Valkey(place).stop()


def postmaster(server: Postgres) -> psutil.Process:
    """The server's first process."""
    return psutil.Process(int((server.data / "postmaster.pid").read_text().split("\n")[0]))


def ask(server: Postgres) -> object:
    """One row from the server."""
    with psycopg.connect(server.url()) as connection:
        row = connection.execute("SELECT 42").fetchone()
    return row and row[0]


def test_a_second_start_finds_the_first_one_running(home: Path) -> None:
    server = Postgres(Place(home))
    assert server.start() is True
    assert Postgres(Place(home)).start() is False
    assert ask(server) == 42
    assert server.stop() is True
    assert server.stop() is False
    assert not server.ready()


def test_data_outlives_a_killed_server(home: Path) -> None:
    server = Postgres(Place(home))
    server.start()
    with psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    postmaster(server).kill()
    assert server.start() is True
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_a_pid_file_that_names_a_stranger_harms_nobody(home: Path) -> None:
    server = Postgres(Place(home))
    server.start()
    server.stop()
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        (server.data / "postmaster.pid").write_text(f"{stranger.pid}\n{server.data}\n0\n5432\n")
        assert server.start() is True
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_server_that_hangs_is_replaced(home: Path) -> None:
    server = Valkey(Place(home))
    server.start()
    (hanging,) = server.processes()
    hanging.send_signal(signal.SIGSTOP)
    assert server.start() is True
    assert not hanging.is_running()
    assert len(server.processes()) == 1


def test_a_half_made_data_directory_is_made_anew(home: Path) -> None:
    server = Postgres(Place(home))
    half = server.data.with_name("postgres.new")
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    server.data.mkdir()
    assert server.start() is True
    assert ask(server) == 42


def test_data_of_another_version_is_not_touched(home: Path) -> None:
    server = Postgres(Place(home))
    server.start()
    server.stop()
    (server.data / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 9"):
        server.start()


def test_two_checkouts_side_by_side_do_not_meet(home: Path, ground: Path) -> None:
    other = ground / "other"
    try:
        for place in (Place(home), Place(other)):
            assert Postgres(place).start() is True
            assert Valkey(place).start() is True
        first, second = Postgres(Place(home)), Postgres(Place(other))
        assert postmaster(first).pid != postmaster(second).pid
        first.stop()
        assert ask(second) == 42
        assert Valkey(Place(other)).ready()
    finally:
        stop(other)


def test_a_copied_home_starts_servers_of_its_own(home: Path, ground: Path) -> None:
    original = Postgres(Place(home))
    original.start()
    copied = ground / "copied"
    subprocess.run(["cp", "-a", str(home), str(copied)], check=True)
    try:
        assert Postgres(Place(copied)).start() is True
        assert ask(original) == 42
    finally:
        stop(copied)


def test_a_home_too_deep_for_a_socket_works(ground: Path) -> None:
    home = ground / ("deep" * 30) / "and with spaces" / "home"
    try:
        server = Postgres(Place(home))
        assert server.start() is True
        assert len(str(server.sockets)) < 90
        assert ask(server) == 42
        assert Valkey(Place(home)).start() is True
    finally:
        stop(home)
        shutil.rmtree(Place(home).refuge)


def test_of_processes_that_start_at_once_one_starts_and_all_are_served(home: Path) -> None:
    command = [sys.executable, "-c", START_BOTH, str(home)]
    started = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(4)]
    said = [process.communicate(timeout=60)[0].decode().split() for process in started]
    assert sorted(words[0] for words in said) == ["False", "False", "False", "True"]
    assert sorted(words[1] for words in said) == ["False", "False", "False", "True"]


def test_somebody_elses_folder_in_the_temporary_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.symlink_to(tmp_path)
    monkeypatch.setattr(Place, "refuge", property(lambda _: trap))
    place = Place(tmp_path / ("deep" * 30))
    with pytest.raises(EmbeddedError, match="belongs to somebody else"):
        Valkey(place).start()


def run_as(user: pwd.struct_passwd, work: Callable[[], None]) -> bool:
    """Do the work in a process of that user; whether it raised nothing.

    A fork and not a new interpreter: the interpreter may lie where the user cannot go.
    """
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_who_is_not_root_starts_them_too(ground: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    os.chown(ground, nobody.pw_uid, nobody.pw_gid)

    def work() -> None:
        place = Place(ground / "home")
        server = Postgres(place)
        assert server.start() is True
        assert server.user is None
        assert postmaster(server).uids().real == nobody.pw_uid
        assert ask(server) == 42
        assert Valkey(place).start() is True
        assert Postgres(place).start() is False
        assert Postgres(place).stop() is True
        assert Valkey(place).stop() is True

    assert run_as(nobody, work)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has what others cannot reach")
def test_root_starts_them_where_no_other_user_may_look(ground: Path) -> None:
    closed = ground / "closed"
    closed.mkdir(mode=0o700)
    home = closed / "home"
    try:
        server = Postgres(Place(home))
        assert server.start() is True
        assert ask(server) == 42
        assert closed.stat().st_mode & 0o777 == 0o700
    finally:
        stop(home)
        shutil.rmtree(Place(home).refuge)
