"""Stands in for the harness: misbehaves on request, as `fake_referee.py BEHAVIOUR run … --out R`.

Run as a program by the tests of the supervisor; uses the standard library alone.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def say(event: str, **more: Any) -> None:
    """One event of the harness's progress."""
    print(json.dumps({"event": event, **more}), flush=True)


def wait_for_ever() -> None:
    """Hang."""
    while True:
        time.sleep(3600)


def main(behaviour: str, argument: str, out: Path) -> int:
    """Behave like that; `argument` is a path whose meaning depends on the behaviour."""
    say("started", replicates=2, message="measuring")
    if behaviour == "hang":
        wait_for_ever()
    if behaviour == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour == "crash":
        print("Traceback …\nRuntimeError: no such device", file=sys.stderr)
        return 1
    if behaviour == "unusable":
        print("benchmark $.workloads: names repeat", file=sys.stderr)
        return 2
    if behaviour == "not measurable":
        code = "candidate_crashed"
        say(
            "failed",
            code=code,
            message="The candidate raised ValueError: 7 heads\x00 in line 3\ud800",
        )
        return 3
    if behaviour == "silent success":
        return 0
    if behaviour == "flood":
        while True:
            sys.stdout.write("x" * 65536 + "\n")
    if behaviour == "environment":
        argument_path = Path(argument)
        argument_path.write_text(json.dumps(dict(os.environ)))
        return 0
    if behaviour == "rubbish":
        talk_rubbish()
        out.write_bytes(b"\x00\xff not a record")
        return 0
    if behaviour == "family":
        leave_a_family(Path(argument))
    if behaviour == "measure":
        measure(Path(argument), out)
    if behaviour in ("check", "check to change"):
        return check(Path(argument), out, passes=behaviour == "check")
    return 0


def talk_rubbish() -> None:
    """Lines that are no events, around two that are."""
    binary = sys.stdout.buffer
    binary.write(b"\x00\xff\xfe\n" + b"y" * 200_000 + b"\n[1, 2]\n{}\n" + b"[" * 50_000 + b"\n")
    binary.write(b'{"event": "round", "ratio": NaN, "low": 1e999, "high": "2", "round": -4}\n')
    binary.write(b'{"event": "round", "ratio": 2.5, "low": 2.25, "high": 2.75, "round": 3}\n')
    binary.flush()


def leave_a_family(pids: Path) -> None:
    """Start a process in a session of its own, tell both ids, and hang."""
    child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
    pids.write_text(f"{os.getpid()} {child.pid}")
    wait_for_ever()


def measure(record: Path, out: Path) -> None:
    """Take as long as `record` takes to appear, then hand in a copy of it."""
    for number in range(1, 10_000):
        say("round", round=number, ratio=2.5, low=2.0 + number / 10_000, high=3.0)
        if record.exists():
            break
        time.sleep(0.05)
    out.write_bytes(record.read_bytes())
    say("finished", ratio=2.5, low=2.4, high=2.6)


def check(given: Path, out: Path, *, passes: bool) -> int:
    """Check the document that was given, and find it right or not."""
    say("trying", title="Baseline torch_eager")
    outcome = "ok" if passes else "error"
    told = {"title": "Baseline torch_eager", "code": "check.baseline", "message": "1.00\u00d7\x00"}
    say("tried", outcome=outcome, **told)
    if passes:
        out.write_bytes(given.read_bytes())
    return 0 if passes else 1


if __name__ == "__main__":
    options = sys.argv[1:]
    behaviour, _, argument = options[0].partition("=")
    if options[1] == "check" and not argument:
        argument = options[2]
    sys.exit(main(behaviour, argument, Path(options[options.index("--out") + 1])))
