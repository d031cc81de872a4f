"""The command `stamp`, and the time stamp that `verify` checks."""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.harness.cli import files
from benchmarks.harness.failures import SetupError
from benchmarks.records import records, time_stamps
from benchmarks.records.time_stamps import TimeStampError


def add_to(commands: Any) -> None:
    """Add the command and its arguments."""
    stamp = commands.add_parser("stamp", help="get an RFC 3161 time stamp of a record's file")
    stamp.add_argument("record", type=Path)
    stamp.add_argument("--url", required=True, help="address of the time-stamp authority")
    stamp.add_argument("--out", type=Path, required=True, help="file for the token")
    stamp.set_defaults(do=stamped)


def stamped(arguments: argparse.Namespace) -> int:
    """Have an authority stamp the record's bytes, and write its token."""
    files.require_room_for(arguments.out)
    content = files.content(arguments.record)
    records.load(content)
    try:
        token = time_stamps.requested(content, arguments.url)
    except TimeStampError as error:
        raise SetupError(str(error)) from error
    files.keep(arguments.out, token)
    return 0


def checked(content: bytes, token: Path, authority: Path | None) -> tuple[int, str]:
    """The exit code of `verify` by a time stamp alone, and a line about it."""
    if authority is None:
        raise SetupError("pass the authority's certificate as --authority")
    try:
        at = time_stamps.taken_at(content, files.content(token), files.content(authority))
    except TimeStampError as error:
        return 1, str(error)
    return 0, f"existed at {at.isoformat(timespec='seconds')}, by its time stamp"
