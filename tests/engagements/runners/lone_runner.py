"""A runner as a program, with the tests' stand-in for the referee.

`lone_runner.py SITE TOKEN_FILE KEY STATE DEVICE_NAME ONCE COMMAND…`. It must run without Django.
"""

import importlib.util
import logging
import os
import sys
import threading
from pathlib import Path

from benchmarks.records import signatures
from benchmarks.runner import loop
from benchmarks.runner.site import RunnerSite
from benchmarks.runner.state import State


def main(site: str, token: str, key: str, state: str, name: str, once: str, *command: str) -> None:
    """Introduce the machine, then measure."""
    assert importlib.util.find_spec("django") is None
    assert importlib.util.find_spec("celery") is None
    logging.basicConfig(level=logging.INFO)
    os.environ[signatures.KEY_FILE_VARIABLE] = key
    stop, speaks_to = threading.Event(), RunnerSite(site, Path(token).read_text())
    started = loop.Runner(speaks_to, State(Path(state)), stop, poll_s=0.1, command=command)
    public_key = signatures.read_key(Path(key)).public.pem()
    loop.introduced(speaks_to, stop, device="cpu", device_name=name, public_key=public_key)
    started.run(once=once == "once")


if __name__ == "__main__":
    main(*sys.argv[1:])
