"""Read a benchmark folder from an archive that a stranger wrote: .zip, .tar.gz or .tgz.

Nothing is written to disk. Names are checked before any content is unpacked, and unpacking stops at
a limit, whatever sizes the archive claims.
"""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, BinaryIO

from benchmarks.records import captured_tensors
from benchmarks.records.benchmark_folders import (
    MAX_FILE_BYTES,
    MAX_FILES,
    decoded,
    require_part,
)
from benchmarks.records.folder_errors import FolderError

# Captured numbers hardly compress.
MAX_ARCHIVE_BYTES = captured_tensors.MAX_BYTES + 8 * 2**20
# Of all members together, unpacked: what a folder's files may have, and no more.
MAX_UNPACKED_BYTES = captured_tensors.MAX_BYTES + 16 * 2**20
_MAX_MEMBERS = 100
_LONGEST_NAME = 200
_END_OF_DIRECTORY, _END_OF_LONG_DIRECTORY = b"PK\x05\x06", b"PK\x06\x07"
# A name, with room for what packers add to an entry of the directory.
_LONGEST_ENTRY = 46 + 4 * _LONGEST_NAME + 256
_IGNORED = ("__pycache__", "__MACOSX", ".DS_Store", ".git")


def read(content: bytes) -> tuple[dict[str, str], dict[str, bytes]]:
    """The folder's texts and its captured tensors by path. One common top folder is left out.

    Raises FolderError with code "folder.archive" and the remedy, or those of the folder itself.
    """
    if len(content) > MAX_ARCHIVE_BYTES:
        raise _refused(f"it is larger than {MAX_ARCHIVE_BYTES:,} bytes")
    opened = io.BytesIO(content)
    try:
        if zipfile.is_zipfile(opened):
            _require_short_directory(content)
            members = _zipped(opened)
        else:
            members = _tarred(content)
        found = dict(_distinct(members))
    except FolderError:
        raise
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise _refused(f"it is damaged ({error})") from error
    except (NotImplementedError, RuntimeError, ValueError, OverflowError) as error:
        raise _refused(f"it cannot be unpacked ({error})") from error
    kept = {n: each for n, each in _without_top(found).items() if not _is_left_out(n)}
    captured = {n: each for n, each in kept.items() if captured_tensors.NAME.fullmatch(n)}
    texts = {}
    for name in kept.keys() - captured.keys():
        # Before decoding, because a nested archive is not text.
        require_part(name)
        texts[name] = decoded(name, kept[name])
    return texts, captured


def _refused(reason: str) -> FolderError:
    return FolderError(
        f"This archive is refused: {reason}. Pack the folder’s files as .zip or .tar.gz.",
        code="archive",
    )


def _distinct(members: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    unpacked = 0
    for name, content in members:
        if name.casefold() in seen:
            raise _refused(f"{name} is in it twice")
        seen.add(name.casefold())
        unpacked += len(content)
        if unpacked > MAX_UNPACKED_BYTES:
            raise _refused(f"it unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
        yield name, content


def _require_short_directory(content: bytes) -> None:
    """Refuse a .zip of too many members before its directory is read into memory."""
    # The last record of a .zip: at the very end, or before a comment of at most 64 KiB.
    for at in (len(content) - 22, content.rfind(_END_OF_DIRECTORY, -(2**16 + 22))):
        if content[at : at + 4] != _END_OF_DIRECTORY:
            continue
        size = int.from_bytes(content[at + 12 : at + 16], "little")
        # Before it, the record of archives of more than 4 GB would name another size.
        is_long = content[at - 20 : at - 16] == _END_OF_LONG_DIRECTORY
        if is_long or size > _MAX_MEMBERS * _LONGEST_ENTRY:
            raise _refused(f"it has more than {_MAX_MEMBERS} members")


def _zipped(opened: BinaryIO) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(opened) as archive:
        members = archive.infolist()
        if len(members) > _MAX_MEMBERS:
            raise _refused(f"it has more than {_MAX_MEMBERS} members")
        for member in members:
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _refused(f"{member.filename[:80]!r} is a link or a device")
            name = _checked(member.filename)
            if member.is_dir():
                continue
            if member.flag_bits & 1:
                raise _refused(f"{name} is encrypted")
            with archive.open(member) as packed:
                yield name, _bounded(packed, name)


def _tarred(content: bytes) -> Iterator[tuple[str, bytes]]:
    # As a stream that ends at the limit: the header of a tar bomb is a member like any other.
    plain = _gunzipped(content)
    with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
        for index, member in enumerate(archive):
            if index == _MAX_MEMBERS:
                raise _refused(f"it has more than {_MAX_MEMBERS} members")
            if not (member.isreg() or member.isdir()) or member.issparse():
                raise _refused(f"{member.name[:80]!r} is a link or a device")
            name = _checked(member.name)
            if member.isdir():
                continue
            packed = archive.extractfile(member)
            assert packed is not None
            yield name, _bounded(packed, name)


def _gunzipped(content: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    plain = unpacker.decompress(content, MAX_UNPACKED_BYTES + 1)
    if len(plain) > MAX_UNPACKED_BYTES:
        raise _refused(f"it unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
    if not unpacker.eof:
        raise _refused("it is neither a .zip nor a whole .tar.gz")
    return plain


def _bounded(packed: IO[bytes], name: str) -> bytes:
    captured = name.endswith(".safetensors")
    most = captured_tensors.MAX_BYTES if captured else MAX_FILE_BYTES
    content = packed.read(most + 1)
    if len(content) > most:
        what = "captured tensors" if captured else f"at most {MAX_FILES} files, each"
        raise FolderError(
            f"{name} is too large: a benchmark has {what} of at most {most:,} bytes", code="size"
        )
    return content


def _checked(name: str) -> str:
    """The name as a path inside the folder. Raises FolderError for one that leads outside."""
    path = PurePosixPath(name)
    bad = (
        not name
        or len(name) > _LONGEST_NAME
        or not name.isprintable()
        or "\\" in name
        or ":" in name
        or path.is_absolute()
        or ".." in path.parts
    )
    if bad:
        raise _refused(f"it has a member named {name[:80]!r}")
    return path.as_posix()


def _without_top(found: dict[str, bytes]) -> dict[str, bytes]:
    kept = {name: each for name, each in found.items() if not _is_left_out(name)}
    tops = {PurePosixPath(name).parts[0] for name in kept}
    if len(tops) != 1 or any("/" not in name for name in kept):
        return kept
    return {name.partition("/")[2]: each for name, each in kept.items()}


def _is_left_out(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return name == "README.md" or name.endswith(".pyc") or any(part in _IGNORED for part in parts)
