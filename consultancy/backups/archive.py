"""The file of a backup: a compressed tar of the dump, the stored files and a manifest.

With recipients it is encrypted in the age format, so the machine that makes backups needs no key
that reads them. The manifest is the last member and lists every other one with its SHA-256, so a
truncated or altered file is recognised.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tarfile
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Protocol

import pyrage
from django.db import connection, transaction
from django.utils import timezone
from isal import igzip

from consultancy.backups import integrity, programs
from consultancy.backups.errors import BackupError

FORMAT = "twofold-backup/1"
DATABASE, FILES, MANIFEST = "database.dump", "files/", "manifest.json"
AGE_HEADER = b"age-encryption.org/v1"
CHUNK_BYTES = 1 << 20


@dataclass
class Manifest:
    """The contents of an archive. `members` maps each member's name to its SHA-256."""

    created_at: str
    event_anchor: str | None
    format: str = FORMAT
    members: dict[str, str] = field(default_factory=dict)

    @property
    def file_count(self) -> int:
        """The number of stored files."""
        return len(self.members) - 1


def write(target: Path, *, recipients: Sequence[str] = ()) -> Manifest:
    """Write a backup to `target`, which appears only when it is complete.

    Database and files are one set: the dump and the list of files come from one snapshot, and
    files are stored before the row that names them. Raises BackupError.
    """
    keys = [_recipient(text) for text in recipients]
    unfinished = target.with_name(f"{target.name}.unfinished")
    try:
        with open(unfinished, "xb", opener=_private) as out:
            with _encrypted(out, keys) as plain, igzip.open(plain, "wb", compresslevel=1) as packed:
                manifest = _write_tar(packed)
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(target)
    except OSError as error:
        raise BackupError(f"The backup cannot be written: {error}", code="backup.write") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return manifest


def extract(source: Path, folder: Path, *, identities: Sequence[str] = ()) -> Manifest:
    """Unpack a backup into `folder` and compare every member with the manifest.

    `identities` are age's secret keys. Raises BackupError when the archive is truncated, altered,
    encrypted to other keys, or no backup.
    """
    try:
        with source.open("rb") as opened, _decrypted(opened, identities) as plain:
            found = _extract_tar(plain, folder)
    except (OSError, EOFError, tarfile.TarError, zlib.error, gzip.BadGzipFile) as error:
        raise BackupError(
            f"{source} is truncated or is not a backup: {error}", code="backup.unreadable"
        ) from error
    return _checked(folder / MANIFEST, found)


def read_identities(file: Path) -> list[str]:
    """The secret keys in an age identity file. Raises BackupError."""
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BackupError(f"{file} cannot be read: {error}", code="backup.identity") from error
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def digest_of(opened: Any) -> str:
    """The SHA-256 of an opened file, from its position."""
    return f"sha256:{hashlib.file_digest(opened, 'sha256').hexdigest()}"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write_tar(packed: IO[bytes]) -> Manifest:
    with (
        tempfile.TemporaryDirectory(prefix="twofold-backup-") as folder,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        transaction.atomic(),
    ):
        integrity.begin_snapshot()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_export_snapshot()")
            snapshot = cursor.fetchone()[0]
        manifest = Manifest(timezone.now().isoformat(), integrity.last_anchor())
        dump = Path(folder) / DATABASE
        programs.dump(dump, snapshot=snapshot)
        with dump.open("rb") as opened:
            _add(tar, manifest, DATABASE, opened, dump.stat().st_size)
        for stored in integrity.stored_files():
            try:
                with stored.open() as content:
                    _add(tar, manifest, f"{FILES}{stored.name}", content, stored.size_bytes)
            except FileNotFoundError as error:
                raise BackupError(
                    f"{stored.row} names {stored.name}, which is missing from storage. Run "
                    "`manage.py integrity` for a list.",
                    code="backup.file_missing",
                ) from error
        text = json.dumps(asdict(manifest), indent=1).encode()
        _add(tar, manifest, MANIFEST, BytesIO(text), len(text))
        del manifest.members[MANIFEST]
        return manifest


class _Readable(Protocol):
    """A file, or one that Django's storage opened."""

    def read(self, size: int = -1, /) -> bytes: ...


class _Hashing:
    """A reader that hashes its input."""

    def __init__(self, source: _Readable) -> None:
        self.source = source
        self.digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        chunk = self.source.read(size)
        self.digest.update(chunk)
        return chunk


def _add(tar: tarfile.TarFile, manifest: Manifest, name: str, source: _Readable, size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    hashing = _Hashing(source)
    tar.addfile(member, hashing)
    manifest.members[name] = f"sha256:{hashing.digest.hexdigest()}"


def _extract_tar(plain: IO[bytes], folder: Path) -> dict[str, str]:
    found = {}
    with (
        igzip.open(plain, "rb") as unpacked,
        tarfile.open(fileobj=unpacked, mode="r|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for member in tar:
            tar.extract(member, folder, filter="data")
            with (folder / member.name).open("rb") as opened:
                found[member.name] = digest_of(opened)
        # Reads the rest, so that the compression's checksum is compared.
        while unpacked.read(CHUNK_BYTES):
            pass
    return found


def _checked(file: Path, found: dict[str, str]) -> Manifest:
    if found.pop(MANIFEST, None) is None:
        raise BackupError(
            "The backup has no manifest: it was not written to its end.", code="backup.unreadable"
        )
    try:
        manifest = Manifest(**json.loads(file.read_bytes()))
    except (ValueError, TypeError) as error:
        raise BackupError(f"The manifest is invalid: {error}", code="backup.unreadable") from error
    if manifest.format != FORMAT:
        raise BackupError(
            f"The backup has the format {manifest.format}; this version reads {FORMAT}.",
            code="backup.format",
        )
    differing = {
        name for name in found | manifest.members if found.get(name) != manifest.members.get(name)
    }
    if differing:
        raise BackupError(
            f"{len(differing)} members differ from the manifest, such as {min(differing)}.",
            code="backup.altered",
        )
    return manifest


def _recipient(text: str) -> object:
    try:
        if text.startswith("ssh-"):
            return pyrage.ssh.Recipient.from_str(text)
        return pyrage.x25519.Recipient.from_str(text.strip())
    except pyrage.RecipientError as error:
        raise BackupError(
            f"{text!r} is not a recipient: enter an age public key (age1…) or an SSH public key.",
            code="backup.recipient",
        ) from error


def _identity(text: str) -> object:
    try:
        return pyrage.x25519.Identity.from_str(text)
    except pyrage.IdentityError as error:
        raise BackupError(
            "The identity file has no age secret key (AGE-SECRET-KEY-1…).", code="backup.identity"
        ) from error


@contextmanager
def _encrypted(out: IO[bytes], keys: Sequence[object]) -> Iterator[IO[bytes]]:
    if not keys:
        yield out
        return
    with _piped(lambda reader, _: pyrage.encrypt_io(reader, out, keys), writes=True) as plain:
        yield plain


@contextmanager
def _decrypted(source: IO[bytes], identities: Sequence[str]) -> Iterator[IO[bytes]]:
    start = source.read(len(AGE_HEADER))
    source.seek(0)
    if start != AGE_HEADER:
        yield source
        return
    keys = [_identity(text) for text in identities]
    if not keys:
        raise BackupError(
            "The backup is encrypted. Name the file with its secret key: --identity FILE.",
            code="backup.encrypted",
        )
    with _piped(lambda _, writer: pyrage.decrypt_io(source, writer, keys), writes=False) as plain:
        yield plain


@contextmanager
def _piped(work: Callable[[IO[bytes], IO[bytes]], object], *, writes: bool) -> Iterator[IO[bytes]]:
    """One end of a pipe whose other end a thread works on; the thread's error is raised at exit."""
    reading, writing = os.pipe()
    reader, writer = os.fdopen(reading, "rb"), os.fdopen(writing, "wb")
    errors: list[Exception] = []

    def run() -> None:
        try:
            work(reader, writer)
        except Exception as error:
            errors.append(error)
        finally:
            (reader if writes else writer).close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield writer if writes else reader
    finally:
        (writer if writes else reader).close()
        thread.join()
        if errors and isinstance(errors[0], pyrage.DecryptError):
            raise BackupError(
                "The backup is encrypted to other keys, or was altered.", code="backup.decrypt"
            ) from errors[0]
        if errors:
            raise errors[0]
