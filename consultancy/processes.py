"""The processes that `manage.py up` runs on one machine."""

import os
import shlex
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

from benchmarks.records.signatures import KEY_FILE_VARIABLE

# The port of the site, for links in mails and documents.
PORT_VARIABLE = "TWOFOLD_PORT"
# Set for every process of one `up` and inherited by its children, so that the orphans of a killed
# `up` can be found.
OWNER_VARIABLE = "TWOFOLD_TERMINAL"


def commands(*, host: str, port: int) -> dict[str, str]:
    """The shell command of each process, by the name that prefixes its log lines."""
    celery = ["celery", "-A", "consultancy", "--quiet"]
    worker = [*celery, "worker", "--without-gossip", "--without-mingle"]
    worker += ["--concurrency", "1", "--loglevel", "INFO"]
    modules = {
        "web": [
            *(
                "gunicorn",
                "consultancy.wsgi",
                "--bind",
                f"{host}:{port}",
                "--workers",
                "2",
                "--preload",
            ),
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
    """The environment of a child process.

    `port` is where this `up` serves the site, if it does; only the gpu worker gets `signing_key`.
    """
    served = {PORT_VARIABLE: str(port)} if port is not None else {}
    key = {KEY_FILE_VARIABLE: str(signing_key)} if signing_key else {}
    return (
        os.environ
        | served
        | key
        | {
            OWNER_VARIABLE: str(home),
            "DJANGO_SETTINGS_MODULE": "consultancy.settings",
            "PYTHONUNBUFFERED": "1",
            # On SIGTERM a worker requeues its task instead of finishing a run of minutes.
            "REMAP_SIGTERM": "SIGQUIT",
            # Celery warns against root; here it runs on a developer's machine or in a container.
            "PYTHONWARNINGS": "ignore:You're running the worker with superuser:RuntimeWarning",
        }
    )


def kill_orphans(home: Path) -> None:
    """Kill every process that an earlier `up` of this home started."""
    orphans = [process for process in psutil.process_iter() if _owner_of(process) == str(home)]
    for process in orphans:
        process.kill()
    psutil.wait_procs(orphans, timeout=5)


def bind_error(host: str, port: int) -> str | None:
    """The reason why a server cannot listen on this address, or None."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            return error.strerror or str(error)
    return None


def _owner_of(process: psutil.Process) -> str | None:
    if process.pid == os.getpid():
        return None
    try:
        variables: Mapping[str, str] = process.environ()
    except (psutil.Error, OSError):
        return None
    return variables.get(OWNER_VARIABLE)
