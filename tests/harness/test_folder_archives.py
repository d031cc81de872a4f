"""Hostile archives of benchmark folders are refused, and nothing of them is written."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable

import pytest

from benchmarks.records import folder_archives
from benchmarks.records.folder_errors import FolderError

FILES = {"benchmark.toml": b"a = 1\n", "baselines/one.py": b"x = 1\n"}


def tarred(add: Callable[[tarfile.TarFile], None] = lambda _: None, top: str = "") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(top + name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        add(archive)
    return made.getvalue()


def zipped(add: Callable[[zipfile.ZipFile], None] = lambda _: None, top: str = "") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(top + name, content)
        add(archive)
    return made.getvalue()


def _member(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def _link(archive: zipfile.ZipFile) -> None:
    linked = zipfile.ZipInfo("program.py")
    linked.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(linked, "/etc/passwd")


def _encrypted(content: bytes) -> bytes:
    changed = bytearray(content)
    at = changed.rindex(b"PK\x01\x02")
    changed[at + 8] |= 1
    return bytes(changed)


def _long(content: bytes) -> bytes:
    at = content.rindex(b"PK\x05\x06")
    return content[:at] + b"PK\x06\x07" + bytes(16) + content[at:]


HOSTILE = {
    "empty": b"",
    "text": b"echo",
    "half": zipped()[:-30],
    "half tar": tarred()[:-20],
    "damaged": b"".join([zipped()[:40], b"\xff\xff\xff", zipped()[43:]]),
    "up": zipped(lambda to: to.writestr("../program.py", "x")),
    "up in a tar": tarred(lambda to: to.addfile(tarfile.TarInfo("a/../../program.py"))),
    "absolute": zipped(lambda to: to.writestr("/etc/cron.d/x", "x")),
    "drive": zipped(lambda to: to.writestr("C:program.py", "x")),
    "backslash": zipped(lambda to: to.writestr("..\\program.py", "x")),
    "control": zipped(lambda to: to.writestr("program\n.py", "x")),
    "link": zipped(_link),
    "symlink": tarred(lambda to: to.addfile(_member("program.py", tarfile.SYMTYPE))),
    "hard link": tarred(lambda to: to.addfile(_member("program.py", tarfile.LNKTYPE))),
    "device": tarred(lambda to: to.addfile(_member("program.py", tarfile.CHRTYPE))),
    "twice": tarred(lambda to: to.addfile(tarfile.TarInfo("Benchmark.toml"))),
    "many": zipped(lambda to: [to.writestr(f"{n}.py", "") for n in range(200)] and None),
    "long directory": zipped(
        lambda to: [to.writestr(f"{n:0>190}", "") for n in range(500)] and None
    ),
    "directory of 64 bits": _long(zipped()),
    "encrypted": _encrypted(zipped()),
    "tar bomb": gzip.compress(bytes(2 * 2**20), mtime=0),
    "bomb in a stream": zlib.compress(bytes(2 * 2**20), wbits=31),
    "large": bytes(folder_archives.MAX_ARCHIVE_BYTES + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_archives, "MAX_UNPACKED_BYTES", 2**20)
    with pytest.raises(FolderError) as refused:
        folder_archives.read(HOSTILE[name])
    assert refused.value.code == "folder.archive"


def test_a_member_that_unpacks_to_too_much_is_refused_before_it_is_unpacked() -> None:
    bomb = zipped(lambda to: to.writestr("program.py", bytes(200 * 2**20)))
    assert len(bomb) < 2**20
    with pytest.raises(FolderError) as refused:
        folder_archives.read(bomb)
    assert refused.value.code == "folder.size"


@pytest.mark.parametrize("name", ["inner.zip", "\uff42enchmark.toml", "program.py\u202e", "a/b.py"])
def test_what_is_no_part_of_a_folder_is_named(name: str) -> None:
    packed = zipped(lambda to: to.writestr(name, zipped()))
    with pytest.raises(FolderError) as refused:
        folder_archives.read(packed)
    assert refused.value.code in ("folder.file", "folder.archive")


@pytest.mark.parametrize("pack", [tarred, zipped])
@pytest.mark.parametrize("top", ["", "my_folder/"])
def test_a_folder_is_read_with_or_without_its_own_name(
    pack: Callable[..., bytes], top: str
) -> None:
    expected = {name: content.decode() for name, content in FILES.items()}
    assert folder_archives.read(pack(top=top)) == (expected, {})
