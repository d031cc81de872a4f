"""The command `keys`: add to a signed list of public keys, revoke one, or print the list."""

import argparse
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness.cli import files
from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import printable
from benchmarks.records import key_lists, signatures
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.key_lists import KeyListError, ListedKey
from benchmarks.records.signatures import KeyUnusable, PublicKey

_LETTERS = 400


def add_to(commands: Any) -> None:
    """Add the command and its arguments."""
    keys = commands.add_parser("keys", help="keep a signed list of public keys and revocations")
    keys.add_argument("action", choices=["add", "revoke", "show"])
    keys.add_argument("list", type=Path, help="the list, created by the first key added")
    keys.add_argument("key", type=Path, nargs="?", help="the public key to add or revoke")
    keys.add_argument("--note", help="whose key it is, or why it is revoked")
    keys.add_argument("--public-key", type=Path, help="the list's own key, to show it")
    keys.set_defaults(do=keep)


def keep(arguments: argparse.Namespace) -> int:
    """Add, revoke or show; prints the last line's digest, to be published elsewhere."""
    path: Path = arguments.list
    if arguments.action == "show":
        if arguments.public_key is None:
            raise SetupError("pass the list's own key as --public-key")
        content = files.content(path)
        listed = read(content, signatures.public_key(files.content(arguments.public_key)))
        for each in listed.values():
            print(printable.line(described(each), _LETTERS))
    else:
        content = _longer(arguments, files.content(path) if path.exists() else b"")
        files.keep(path, content)
    print(f"last line {digest_of_bytes(content.splitlines()[-1]) if content else 'none'}")
    return 0


def _longer(arguments: argparse.Namespace, content: bytes) -> bytes:
    signer = signatures.take_key(os.environ)
    if signer is None:
        raise KeyUnusable(f"no signing key: set {signatures.KEY_FILE_VARIABLE}")
    if arguments.key is None or not arguments.note:
        raise SetupError("pass the public key's file, and --note: its owner, or the reason")
    key = signatures.public_key(files.content(arguments.key))
    try:
        return key_lists.appended(
            content,
            action=arguments.action,
            key=key,
            note=arguments.note,
            at=datetime.now(UTC),
            signer=signer,
        )
    except KeyListError as error:
        raise SetupError(str(error)) from error


def read(content: bytes, own: PublicKey) -> dict[str, ListedKey]:
    """The keys of a list. Raises SetupError."""
    try:
        return dict(key_lists.read(content, own))
    except KeyListError as error:
        raise SetupError(str(error)) from error


def described(listed: ListedKey) -> str:
    """A line about a listed key."""
    revoked = f", revoked at {listed.revoked_at}: {listed.reason}" if listed.revoked_at else ""
    return f"key {listed.key.id} of {listed.owner}{revoked}"
