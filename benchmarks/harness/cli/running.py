"""Measure the runs of a Twofold site on this machine."""

import argparse
import json
import logging
import os
import signal
import threading
from pathlib import Path

from benchmarks.client import SiteError
from benchmarks.harness.failures import SetupError
from benchmarks.records import signatures
from benchmarks.runner.state import State, StateInUse


def runner(arguments: argparse.Namespace) -> int:
    """Introduce this machine to the site, then measure run after run until SIGTERM."""
    # Needs the packages of measuring, which other commands do without.
    from benchmarks.runner import loop
    from benchmarks.runner.site import RunnerSite

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    key = signatures.read_key(arguments.key)
    # The referee takes the key out of its environment before a candidate starts.
    os.environ[signatures.KEY_FILE_VARIABLE] = str(arguments.key.resolve())
    os.environ.pop(signatures.KEY_VARIABLE, None)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        site = RunnerSite(arguments.site, _token(arguments.token_file))
        started = loop.Runner(site, State(_folder(arguments.state)), stop)
        started.poll_s = arguments.poll or started.poll_s
        kind, name = loop.device()
        known = loop.introduced(
            site, stop, device=kind, device_name=name, public_key=key.public.pem()
        )
        if known is not None:
            logging.info("runner %s at %s: %s, key %s", known, arguments.site, name, key.public.id)
            started.run(once=arguments.once)
    except StateInUse as error:
        raise SetupError(str(error)) from error
    except SiteError as error:
        raise SetupError(f"{error} ({error.code})") from error
    return 0


def device(arguments: argparse.Namespace) -> int:
    """Print this machine's device as records name it."""
    import torch

    from benchmarks.harness.devices import backends

    found = backends.device("cuda" if torch.cuda.is_available() else "cpu")
    print(json.dumps({"device": found.kind, "name": found.name()}))
    return 0


def _token(file: Path) -> str:
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{file} cannot be read: {error}") from error
    if not token or not token.isascii() or not token.isprintable():
        raise SetupError(f"{file} has no token.")
    return token


def _folder(given: Path | None) -> Path:
    # systemd names the folder of a unit with StateDirectory=.
    named = os.environ.get("STATE_DIRECTORY")
    return given or Path(named or Path.home() / ".local/state/twofold-runner")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands and their arguments."""
    command = commands.add_parser("runner", help="measure the runs of a Twofold site")
    command.add_argument("--site", required=True, metavar="URL")
    command.add_argument(
        "--token-file", type=Path, required=True, metavar="FILE", help="the runner's token"
    )
    command.add_argument(
        "--key", type=Path, required=True, metavar="FILE", help="private key, as of keygen"
    )
    command.add_argument(
        "--state", type=Path, metavar="FOLDER", help="for records that the site does not have yet"
    )
    command.add_argument(
        "--poll", type=float, metavar="S", help="seconds between questions, 10 by default"
    )
    command.add_argument("--once", action="store_true", help="measure at most one run, then end")
    command.set_defaults(do=runner)
    named = commands.add_parser("device", help="print this machine's device as records name it")
    named.set_defaults(do=device)
