"""What NVIDIA's own tools read in a compiled kernel: registers, spills, products that wait."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import triton.backends.nvidia

_TOOLS = Path(triton.backends.nvidia.__file__).with_name("bin")
_PRODUCTS = re.compile(r"\b(HGMMA|WARPGROUP\.DEPBAR)\b")
_USAGE = re.compile(r"REG:(?P<registers>\d+) STACK:(?P<spilled_bytes>\d+)")


def of(cubin: bytes) -> dict[str, int]:
    """Registers of a thread, and bytes of its stack, which is what did not fit in them."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        asked = [str(_TOOLS / "cuobjdump"), "-res-usage", file.name]
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    found = _USAGE.search(done.stdout + done.stderr)
    if found is None:
        raise ValueError(f"cuobjdump says nothing of registers: {done.stdout}{done.stderr}")
    return {name: int(value) for name, value in found.groupdict().items()}


def serialised(cubin: bytes) -> bool:
    """Whether every asynchronous product waits for the one before it.

    The assembler makes it so where anything else reads the sums while products are under way; it
    warns (C7510 and its neighbours) where nobody sees it.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        asked = [str(_TOOLS / "nvdisasm"), file.name]
        listing = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    # One letter an instruction: products and waits for them.
    order = "".join("P" if found == "HGMMA" else "W" for found in _PRODUCTS.findall(listing))
    return "P" in order and "PP" not in order
