"""The processes of a site on one machine: what `manage.py up` runs in one terminal."""

import os
import shlex
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

from benchmarks.harness.records.signatures import KEY_FILE_VARIABLE

# Where the site is served, for links in what is read elsewhere.
PORT_VARIABLE = "TWOFOLD_PORT"
# Every process of a terminal carries this variable, and hands it to what it starts. So
# what a killed terminal left behind can be told from everything else on the machine.
MARK = "TWOFOLD_TERMINAL"


def commands(*, host: str, port: int) -> dict[str, str]:
    """The shell command of each process, by the name that its lines are prefixed with."""
    celery = ["celery", "-A", "consultancy", "--quiet"]
    worker = [*celery, "worker", "--without-gossip", "--without-mingle"]
    worker += ["--concurrency", "1", "--loglevel", "INFO"]
    modules = {
        "web": [
            *("gunicorn", "consultancy.wsgi", "--bind", f"{host}:{port}", "--workers", "2"),
            *("--threads", "4", "--graceful-timeout", "3", "--no-control-socket"),
            *("--access-logfile", "-", "--access-logformat", "%(m)s %(U)s %(s)s %(M)sms"),
            *("--log-level", "warning"),
        ],
        "gpu": [*worker, "-Q", "gpu", "-n", "gpu@%h"],
        "documents": [*worker, "-Q", "documents,default", "-n", "documents@%h"],
        "beat": [*celery, "beat", "--pidfile=", "--loglevel", "WARNING"],
    }
    return {
        name: "exec " + shlex.join([sys.executable, "-m", *module])
        for name, module in modules.items()
    }


def environment(
    home: Path, *, port: int | None = None, signing_key: Path | None = None
) -> dict[str, str]:
    """The variables of a process: this one's, how to stop, where the site is served (unless by
    another terminal), and for the referee its key."""
    served = {PORT_VARIABLE: str(port)} if port is not None else {}
    key = {KEY_FILE_VARIABLE: str(signing_key)} if signing_key else {}
    return (
        os.environ
        | served
        | key
        | {
            MARK: str(home),
            "DJANGO_SETTINGS_MODULE": "consultancy.settings",
            "PYTHONUNBUFFERED": "1",
            # A stopped worker gives its task back to the queue; it does not finish a
            # measurement of minutes while somebody waits for their terminal.
            "REMAP_SIGTERM": "SIGQUIT",
            # Said for servers on the internet; this is somebody's own machine or a container.
            "PYTHONWARNINGS": "ignore:You're running the worker with superuser:RuntimeWarning",
        }
    )


def end_leftovers(home: Path) -> int:
    """Kill every process that a terminal of this checkout left behind; how many there were."""
    leftovers = [process for process in psutil.process_iter() if _mark_of(process) == str(home)]
    for process in leftovers:
        process.kill()
    psutil.wait_procs(leftovers, timeout=5)
    return len(leftovers)


def port_taken(host: str, port: int) -> str | None:
    """Why nothing can listen there, or None when it can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            return error.strerror or str(error)
    return None


def _mark_of(process: psutil.Process) -> str | None:
    if process.pid == os.getpid():
        return None
    try:
        variables: Mapping[str, str] = process.environ()
    except (psutil.Error, OSError):
        return None
    return variables.get(MARK)
