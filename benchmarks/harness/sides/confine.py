"""Set up a side's sandbox from inside its new namespaces, then start the side.

Runs as a script, standard library only: `python -I -S confine.py SPEC COMMAND…`. util-linux's
`unshare` creates the namespaces before, and `setpriv` drops the privileges afterwards. In between,
this builds a root folder with only the named files, read-only, and a scratch folder of limited
size, and sets the limits that need root.

SPEC is JSON: `root` (an empty folder to build in; null keeps the machine's root), `guarded` (paths
to make read-only in the machine's root; null leaves all mounts alone), `shown` (paths bound
read-only), `written` (paths bound writable), `scratch` and `scratch_bytes`, `devices`,
`own_process_ids`, `group` (a control group to enter, or null), `loopback` (whether to bring up the
new network's loopback), `children_counted` (whether children's processor time must be counted),
`oom_score`, `limits`.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import stat
import struct
import sys
from typing import Any

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MS_BY_OPTION = {
    "ro": _MS_RDONLY,
    "nosuid": _MS_NOSUID,
    "nodev": _MS_NODEV,
    "noexec": _MS_NOEXEC,
    "noatime": 1024,
    "nodiratime": 2048,
    "relatime": 1 << 21,
}
_PR_SET_PDEATHSIG = 1
_KEYCTL_BY_MACHINE = {"x86_64": 250, "aarch64": 219}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_ROOT_BYTES = 1 << 20
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
# A machine's number for system calls, and its rt_sigaction.
_AUDIT_ARCH_BY_MACHINE = {"x86_64": (0xC000003E, 13), "aarch64": (0xC00000B7, 134)}
_OTHER_NUMBERS = 0x40000000
_WITHOUT_EFFECT, _ALLOWED = 0x00050000, 0x7FFF0000
# Instructions of classic BPF, and offsets in struct seccomp_data.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCH_AT, _SIGNAL_AT, _ACTION_AT = 0, 4, 16, 24
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
# A file system of the side's own.
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a mount point in the side's own root
_SHARED_MEMORY_BYTES = 1 << 30
_LIBC = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    arguments = [source.encode(), target.encode(), kind.encode()]
    if _LIBC.mount(*arguments, ctypes.c_ulong(flags), options.encode() or None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {kind or 'bind'}: {os.strerror(number)}", target)


def _place(root: str, path: str, *, folder: bool) -> str:
    """Create a mount point for `path` below the new root."""
    target = root + path
    os.makedirs(target if folder else os.path.dirname(target), mode=0o755, exist_ok=True)
    if not folder and not os.path.lexists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    return target


def _show(root: str, path: str) -> None:
    """Bind one path; recreate a top-level link (`/lib` to `usr/lib`) as a link."""
    if os.path.islink(path):
        target = root + path
        os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
        if not os.path.lexists(target):
            os.symlink(os.readlink(path), target)
        return
    target = _place(root, path, folder=os.path.isdir(path))
    _mount(path, target, "", _MS_BIND | _MS_REC)


def _mounts_below(root: str) -> list[tuple[str, int]]:
    """The mount points at or below `root`, with their flags."""
    found = []
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            fields = line.split()
            point = fields[4].encode().decode("unicode_escape")
            if point == root or point.startswith(root + "/"):
                options = fields[5].split(",")
                found.append((point, sum(_MS_BY_OPTION.get(option, 0) for option in options)))
    return found


def _shut(root: str, kept: list[str]) -> None:
    """Make every mount below the root read-only, submounts too, except those of `kept`."""
    open_still = {root + path for path in kept}
    for point, flags in _mounts_below(root):
        if point in open_still or flags & _MS_RDONLY:
            continue
        try:
            _mount("", point, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)
        except OSError:
            # A mount hidden under another mount cannot be reached by path.
            if os.path.exists(point) and not os.statvfs(point).f_flag & os.ST_RDONLY:
                raise


def _make_devices(root: str, devices: list[str]) -> None:
    _place(root, "/dev", folder=True)
    for device in devices:
        _mount(device, _place(root, device, folder=os.path.isdir(device)), "", _MS_BIND | _MS_REC)
    os.symlink("/proc/self/fd", root + "/dev/fd")
    shared = _place(root, _SHARED_MEMORY, folder=True)
    size = f"mode=1777,size={_SHARED_MEMORY_BYTES}"
    _mount("tmpfs", shared, "tmpfs", _MS_NOSUID | _MS_NODEV, size)


def build_room(spec: dict[str, Any]) -> None:
    """Build the new root folder and change into it."""
    root, scratch = spec["root"], spec["scratch"]
    _mount("", "/", "", _MS_PRIVATE | _MS_REC)
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, f"mode=755,size={_ROOT_BYTES}")
    for path in spec["shown"]:
        _show(root, path)
    for path in spec["written"]:
        _show(root, path)
    _make_devices(root, spec["devices"])
    proc = _place(root, "/proc", folder=True)
    if spec["own_process_ids"]:
        _mount("proc", proc, "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    else:
        _mount("/proc", proc, "", _MS_BIND | _MS_REC)
    _mount(
        "tmpfs",
        _place(root, scratch, folder=True),
        "tmpfs",
        _MS_NOSUID | _MS_NODEV,
        _scratch_options(spec),
    )
    _shut(root, [scratch, *spec["written"], *spec["devices"], _SHARED_MEMORY])
    os.chroot(root)
    os.chdir(scratch)


def guard(spec: dict[str, Any]) -> None:
    """Keep the machine's root folder, with read-only code and a limited scratch folder."""
    _mount("", "/", "", _MS_PRIVATE | _MS_REC)
    for path in spec["guarded"]:
        _mount(path, path, "", _MS_BIND | _MS_REC)
        _shut(path, [])
    _mount("tmpfs", spec["scratch"], "tmpfs", _MS_NOSUID | _MS_NODEV, _scratch_options(spec))
    if spec["own_process_ids"]:
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    os.chdir(spec["scratch"])


def _scratch_options(spec: dict[str, Any]) -> str:
    return f"mode=700,uid={spec['user']},gid={spec['user']},size={spec['scratch_bytes']}"


def _limit(limits: dict[str, int]) -> None:
    for name, most in limits.items():
        which = getattr(resource, name)
        _, hard = resource.getrlimit(which)
        within = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (within, within))


def _die_first(score: int) -> None:
    """Have the kernel choose this process when memory runs out: of several, the highest score.

    Permanent when set by root; a side without its own user could undo it.
    """
    # An outer sandbox may have no such file.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as adjusted:
        adjusted.write(str(score))


def _leave_keyring() -> None:
    """Join a new session keyring, since an inherited one may be readable.

    Fails where the kernel or a container has no keyrings; escape_attempts.py checks the result.
    """
    keyctl = _KEYCTL_BY_MACHINE.get(os.uname().machine)
    if keyctl is not None:
        _LIBC.syscall(keyctl, _KEYCTL_JOIN_SESSION_KEYRING, None)


def _keep_children_counted() -> None:
    """Let no change of what SIGCHLD does have an effect, by a filter of system calls.

    The kernel counts a child's processor time when its parent waits for it. A parent that ignores
    SIGCHLD need not, and what such a child computed would be nobody's. Fails where the kernel has
    no filters; escape_attempts.py checks the result.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    known = _AUDIT_ARCH_BY_MACHINE.get(os.uname().machine)
    if known is None:
        return
    arch, sigaction = known
    # Jumps count instructions. System calls of other machines' numbers have no effect either.
    program = (
        (_LOAD, 0, 0, _ARCH_AT),
        (_IF_EQUAL, 0, 10, arch),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 8, 0, _OTHER_NUMBERS),
        (_IF_EQUAL, 0, 6, sigaction),
        (_LOAD, 0, 0, _SIGNAL_AT),
        (_IF_EQUAL, 0, 4, signal.SIGCHLD),
        # Without a new action it only asks.
        (_LOAD, 0, 0, _ACTION_AT),
        (_IF_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, _ACTION_AT + 4),
        (_IF_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOWED),
        (_RETURN, 0, 0, _WITHOUT_EFFECT),
    )
    content = b"".join(struct.pack("HBBI", *each) for each in program)
    kept = ctypes.create_string_buffer(content)
    described = struct.pack("HxxxxxxP", len(program), ctypes.addressof(kept))
    _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described, 0, 0)


def _bring_up_loopback() -> None:
    request = struct.pack("16sh14x", b"lo", 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        found = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("h", found, 16)
        up = struct.pack("16sh14x", b"lo", flags | _IFF_UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, up)


def _start_below(command: list[str]) -> int:
    """Run the command as a child of process 1 of the new namespace, and return its status.

    The side must not be process 1 itself, because its own signals could not end it.
    """
    child = os.fork()
    if child == 0:
        # The kernel then kills the child together with process 1.
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execv(command[0], command)  # noqa: S606 - a list of arguments, no shell
    # Only the child may hold the channel open.
    os.closerange(3, 1024)
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def main(spec: dict[str, Any], command: list[str]) -> int:
    """Confine this process by `spec` and execute `command`."""
    _die_first(spec["oom_score"])
    _leave_keyring()
    if spec["group"] is not None:
        with open(os.path.join(spec["group"], "cgroup.procs"), "w") as group:
            group.write(str(os.getpid()))
    if spec["loopback"]:
        _bring_up_loopback()
    os.umask(0o022)
    if spec["root"] is not None:
        build_room(spec)
    elif spec["guarded"] is not None:
        guard(spec)
    os.umask(0o077)
    _limit(spec["limits"])
    if spec["children_counted"]:
        _keep_children_counted()
    # Terminal signals are for the referee, which then ends its sides.
    if not stat.S_ISCHR(os.fstat(0).st_mode):
        raise OSError("a side's standard input must be the null device")
    if spec["own_process_ids"]:
        return _start_below(command)
    os.execv(command[0], command)  # noqa: S606 - a list of arguments, no shell


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
