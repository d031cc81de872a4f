"""Tries, from where a side will live, what a side must not be able to do: what it finds is told.

Run as a file of its own inside a cell, standard library only: `python -I escape_attempts.py ASKED`.
ASKED is JSON: `referee` (its process id) and `process_ids` (its namespace of them), `code`
(folders that must refuse writing), `scratch_bytes`, `secret` (a file of the referee's that must
not be seen), `user` (the id this must have, or null), `arena` (a CUDA memory handle that must
open, or null), `keyring` (that of the referee's session, or null). The answer is one line of JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import sys
import tempfile
from typing import Any

_STATUS = "/proc/self/status"
# As confine.py has it, which is a file of its own, too: neither can import the other there.
_KEYCTL_BY_MACHINE = {"x86_64": 250, "aarch64": 219}
_KEYCTL_GET_KEYRING_ID = 0
_SESSION_KEYRING = -3


def _refused_to_write(folders: list[str]) -> bool:
    for folder in folders:
        with contextlib.suppress(OSError):
            descriptor, path = tempfile.mkstemp(dir=folder)
            os.close(descriptor)
            os.unlink(path)
            return False
    return True


def _refused_to_read(path: str) -> bool:
    try:
        with open(path, "rb") as opened:
            opened.read(1)
    except OSError:
        return True
    return False


def _has_network() -> bool:
    """Whether there is any interface but an unused loopback, or a way to reach one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        with contextlib.suppress(OSError):
            # Sends nothing: it only asks the kernel for a route (TEST-NET-1 of RFC 5737).
            datagrams.connect(("192.0.2.1", 9))
            return True
        with contextlib.suppress(OSError):
            datagrams.connect(("127.0.0.1", 9))
            return True
    return False


def _field(name: str) -> str:
    with open(_STATUS) as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return line.partition(":")[2].strip()
    return ""


def session_keyring() -> int | None:
    """The kernel's number of the keyring that this process has from its session; None: none."""
    keyctl = _KEYCTL_BY_MACHINE.get(os.uname().machine)
    if keyctl is None:
        return None
    found = int(ctypes.CDLL(None).syscall(keyctl, _KEYCTL_GET_KEYRING_ID, _SESSION_KEYRING, 0))
    return found if found > 0 else None


def _open_arena(handle: str) -> None:
    """Open the referee's memory as a side will; RuntimeError when CUDA refuses."""
    from cuda.bindings import runtime as cudart

    ipc = cudart.cudaIpcMemHandle_t()
    ctypes.memmove(int(ipc.getPtr()), bytes.fromhex(handle), 64)
    error, address = cudart.cudaIpcOpenMemHandle(ipc, int(cudart.cudaIpcMemLazyEnablePeerAccess))
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA error {int(error)}")
    cudart.cudaIpcCloseMemHandle(address)


def tried(asked: dict[str, Any]) -> dict[str, bool]:
    """Each protection, by what happened when it was tried."""
    referee = f"/proc/{asked['referee']}"
    filesystem = os.statvfs(".")
    size = filesystem.f_blocks * filesystem.f_frsize
    apart = os.readlink("/proc/self/ns/pid") != asked["process_ids"]
    if asked["arena"] is not None:
        _open_arena(asked["arena"])
    return {
        "unprivileged_user": asked["user"] is not None
        and os.getresuid() == (asked["user"],) * 3
        and os.getgroups() in ([], [asked["user"]]),
        "no_capabilities": int(_field("CapEff"), 16) == int(_field("CapBnd"), 16) == 0,
        "no_new_privileges": _field("NoNewPrivs") == "1",
        "no_network": not _has_network(),
        "read_only_code": _refused_to_write(asked["code"]),
        "files_hidden": not os.path.lexists(asked["secret"]),
        "own_process_ids": apart,
        "referee_unreadable": apart
        or all(_refused_to_read(f"{referee}/{name}") for name in ("environ", "mem", "maps")),
        "scratch_limited": size <= asked["scratch_bytes"],
        "own_keyring": asked["keyring"] is None or session_keyring() != asked["keyring"],
    }


if __name__ == "__main__":
    # The scratch folder must be writable, or nothing can be measured here.
    with tempfile.TemporaryFile(dir="."):
        print(json.dumps(tried(json.loads(sys.argv[1]))))
