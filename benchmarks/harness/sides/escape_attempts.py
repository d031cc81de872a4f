"""Attempt, inside a sandbox, everything that a side must not be able to do.

Runs as a script, standard library only: `python -I escape_attempts.py TASK`. TASK is JSON:
`referee` (its process id), `process_ids` (its process namespace), `network` (its network namespace
where a loopback of the side's own is allowed, or null), `code` (folders that must not
be writable), `scratch_bytes`, `secret` (a file of the referee that must be invisible), `user` (the
required user id, or null), `arena` (a CUDA memory handle that must open, or null), `keyring` (the
referee's session keyring, or null). Prints one line of JSON.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import tempfile
from typing import Any

_STATUS = "/proc/self/status"
# Repeated from confine.py: both are standalone scripts.
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


def _has_network(referees: str | None) -> bool:
    """Whether any network interface is reachable, but a loopback that only the side has.

    `referees` is the referee's network namespace where such a loopback is allowed.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        with contextlib.suppress(OSError):
            # Sends nothing; asks the kernel for a route (TEST-NET-1 of RFC 5737).
            datagrams.connect(("192.0.2.1", 9))
            return True
        with contextlib.suppress(OSError):
            datagrams.connect(("127.0.0.1", 9))
            return referees in (None, os.readlink("/proc/self/ns/net"))
    return False


def _field(name: str) -> str:
    with open(_STATUS) as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return line.partition(":")[2].strip()
    return ""


def session_keyring() -> int | None:
    """The kernel's id of this process's session keyring; None without one."""
    keyctl = _KEYCTL_BY_MACHINE.get(os.uname().machine)
    if keyctl is None:
        return None
    found = int(ctypes.CDLL(None).syscall(keyctl, _KEYCTL_GET_KEYRING_ID, _SESSION_KEYRING, 0))
    return found if found > 0 else None


def _cannot_ignore_children() -> bool:
    """Whether the kernel counts the processor time of children whose parent ignores their end."""
    with contextlib.suppress(OSError):
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    return not int(_field("SigIgn"), 16) >> (signal.SIGCHLD - 1) & 1


def _open_arena(handle: str) -> None:
    """Open the referee's memory as a side does. Raises RuntimeError."""
    from cuda.bindings import runtime as cudart

    ipc = cudart.cudaIpcMemHandle_t()
    ctypes.memmove(int(ipc.getPtr()), bytes.fromhex(handle), 64)
    error, address = cudart.cudaIpcOpenMemHandle(ipc, int(cudart.cudaIpcMemLazyEnablePeerAccess))
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA error {int(error)}")
    cudart.cudaIpcCloseMemHandle(address)


def tried(asked: dict[str, Any]) -> dict[str, bool]:
    """Each protection, and whether the attempt on it failed."""
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
        "no_network": not _has_network(asked["network"]),
        "read_only_code": _refused_to_write(asked["code"]),
        "files_hidden": not os.path.lexists(asked["secret"]),
        "own_process_ids": apart,
        "referee_unreadable": apart
        or all(_refused_to_read(f"{referee}/{name}") for name in ("environ", "mem", "maps")),
        "scratch_limited": size <= asked["scratch_bytes"],
        "children_counted": _cannot_ignore_children(),
        "own_keyring": asked["keyring"] is None or session_keyring() != asked["keyring"],
    }


if __name__ == "__main__":
    # A side needs a writable scratch folder.
    with tempfile.TemporaryFile(dir="."):
        print(json.dumps(tried(json.loads(sys.argv[1]))))
