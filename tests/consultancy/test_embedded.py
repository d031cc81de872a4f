"""The embedded servers start on first use, are shared by processes, and replace dead ones."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from consultancy.embedded import place, valkey
from consultancy.embedded.place import EmbeddedError, Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey
from tests.consultancy.settings_loader import ROOT

START_BOTH = """
import sys
from pathlib import Path
from consultancy.embedded.place import Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey
place = Place(Path(sys.argv[1]))
print(Postgres(place).start(), Valkey(place).start())
"""


@pytest.fixture(scope="module")
def ground() -> Iterator[Path]:
    """A short path that every user can reach, unlike pytest's own under root."""
    folder = Path(tempfile.mkdtemp(prefix="twofold-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(ground: Path) -> Iterator[Path]:
    """A home shared by the tests here, whose servers are stopped after each."""
    yield ground / "home"
    stop(ground / "home")


def stop(home: Path) -> None:
    Postgres(Place(home)).stop()
    Valkey(Place(home)).stop()


def postmaster(server: Postgres) -> psutil.Process:
    """The server's main process."""
    return psutil.Process(int((server.data / "postmaster.pid").read_text().split("\n")[0]))


def query(server: Postgres) -> object:
    with psycopg.connect(server.url()) as connection:
        row = connection.execute("SELECT 42").fetchone()
    return row and row[0]


def test_concurrent_processes_start_each_server_once(home: Path) -> None:
    command = [sys.executable, "-c", START_BOTH, str(home)]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(4)]
    outputs = [process.communicate(timeout=60)[0].decode().split() for process in processes]
    for started in zip(*outputs, strict=True):
        assert sorted(started) == ["False", "False", "False", "True"]
    server = Postgres(Place(home))
    assert query(server) == 42
    assert server.stop() is True
    assert server.stop() is False
    assert not server.ready()


def test_data_survives_a_killed_server(home: Path) -> None:
    server = Postgres(Place(home))
    server.start()
    with psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    postmaster(server).kill()
    assert server.start() is True
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_a_stale_pid_file_harms_no_other_process(home: Path) -> None:
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


def test_a_hanging_server_is_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey, "ANSWER_LIMIT_S", 0.5)
    server = Valkey(Place(home))
    server.start()
    (hanging,) = server.processes()
    hanging.send_signal(signal.SIGSTOP)
    assert server.start() is True
    assert not hanging.is_running()
    assert len(server.processes()) == 1


def test_only_a_server_that_a_client_keeps_using_stays(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres, broker = Postgres(Place(home)), Valkey(Place(home))
    postgres.start()
    broker.start()
    connection = psycopg.connect(postgres.url())
    client = redis.Redis(unix_socket_path=str(broker.socket))
    client.ping()
    with monkeypatch.context() as patched:
        patched.setattr(place, "DISCONNECT_WAIT_S", 0.1)
        assert not postgres.stop_if_unused()
        assert not broker.stop_if_unused()
    for server, leave in ((postgres, connection.close), (broker, client.close)):
        leaving = threading.Timer(0.3, leave)
        leaving.start()
        assert server.stop_if_unused()
        leaving.join()
        assert not server.ready()


def test_data_of_another_version_is_not_touched(home: Path) -> None:
    server = Postgres(Place(home))
    server.start()
    server.stop()
    version = (server.data / "PG_VERSION").read_text()
    (server.data / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedError, match=str(server.data)):
        server.start()
    (server.data / "PG_VERSION").write_text(version)


@pytest.mark.soak
def test_a_copied_home_has_its_own_servers(home: Path, ground: Path) -> None:
    original, copied = Postgres(Place(home)), Postgres(Place(ground / "copied"))
    original.start()
    subprocess.run(["cp", "-a", str(home), str(ground / "copied")], check=True)
    try:
        assert copied.start() is True
        assert postmaster(original).pid != postmaster(copied).pid
        original.stop()
        assert query(copied) == 42
    finally:
        stop(ground / "copied")


@pytest.mark.soak
def test_an_interrupted_initialization_is_repeated(ground: Path) -> None:
    server = Postgres(Place(ground / "half"))
    half = server.data.with_name("postgres.new")
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    server.data.mkdir()
    try:
        assert server.start() is True
        assert query(server) == 42
    finally:
        stop(ground / "half")


def test_a_home_with_a_path_too_long_for_a_socket_works(ground: Path) -> None:
    place = Place(ground / ("deep" * 30) / "and with spaces" / "home")
    try:
        assert len(str(Postgres(place).sockets)) < 90
        assert Valkey(place).start() is True
        assert Valkey(place).ready()
    finally:
        stop(place.home)
        shutil.rmtree(place.fallback)


def test_a_fallback_folder_of_another_user_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.symlink_to(tmp_path)
    monkeypatch.setattr(Place, "fallback", property(lambda _: trap))
    with pytest.raises(EmbeddedError, match=str(trap)):
        Valkey(Place(tmp_path / ("deep" * 30))).start()


def run_as(user: pwd.struct_passwd, work: Callable[[], None]) -> bool:
    """Run `work` in a process of this user; whether it raised nothing.

    It forks, because the user may not be able to reach the interpreter.
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
def test_a_user_other_than_root_runs_them_as_itself(ground: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    folder = ground / "of-nobody"
    folder.mkdir()
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)

    def work() -> None:
        server, broker = Postgres(Place(folder / "home")), Valkey(Place(folder / "home"))
        assert server.start() is True
        assert server.user is None
        assert postmaster(server).uids().real == nobody.pw_uid
        assert query(server) == 42
        assert broker.start() is True
        assert server.stop() is True
        assert broker.stop() is True

    assert run_as(nobody, work)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders that others cannot reach")
def test_root_runs_them_in_a_folder_closed_to_others(ground: Path) -> None:
    closed = ground / "closed"
    closed.mkdir(mode=0o700)
    place = Place(closed / "home")
    try:
        assert Postgres(place).start() is True
        assert query(Postgres(place)) == 42
        assert closed.stat().st_mode & 0o777 == 0o700
    finally:
        stop(place.home)
        shutil.rmtree(place.fallback)
