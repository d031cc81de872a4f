"""What a compiled kernel takes of a multiprocessor, as NVIDIA's cuobjdump reads it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import triton.backends.nvidia

_CUOBJDUMP = Path(triton.backends.nvidia.__file__).with_name("bin") / "cuobjdump"
_USAGE = re.compile(r"REG:(?P<registers>\d+) STACK:(?P<spilled_bytes>\d+)")


def of(cubin: bytes) -> dict[str, int]:
    """Registers of a thread, and bytes of its stack, which is what did not fit in them."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        asked = [str(_CUOBJDUMP), "-res-usage", file.name]
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    found = _USAGE.search(done.stdout + done.stderr)
    if found is None:
        raise ValueError(f"cuobjdump says nothing of registers: {done.stdout}{done.stderr}")
    return {name: int(value) for name, value in found.groupdict().items()}
