"""Which sizes this machine can measure."""

from __future__ import annotations

import json
import subprocess
import sys

from django.core.management.base import CommandError

from kernels import catalogue

# In a process of its own: nothing of the web tier imports torch.
PROBE = """
import json, torch
cuda = torch.cuda.is_available()
print(json.dumps({
    "memory_bytes": torch.cuda.get_device_properties(0).total_memory if cuda else None
}))
"""
GIB = 2**30
# The contract sizes of the catalogue hold 32 separate 32K caches in four layers, twice.
H200_MEMORY_BYTES = 100 * GIB


def preset_for(operator: str) -> str:
    """The catalogue's preset that suits this machine: "h200", "cuda" or "cpu"."""
    wanted: tuple[str, ...] = ("cpu",)
    memory_bytes = _gpu_memory_bytes()
    if memory_bytes is not None:
        wanted = ("cuda", "cpu")
        if memory_bytes >= H200_MEMORY_BYTES:
            wanted = ("h200", *wanted)
    known = catalogue.presets(operator)
    return next(preset for preset in wanted if preset in known)


def _gpu_memory_bytes() -> int | None:
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False, timeout=120
    )
    if probe.returncode != 0:
        reason = probe.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
        raise CommandError(
            f"Torch does not start here ({reason[0]}). Install the worker extra: make install"
        )
    memory: int | None = json.loads(probe.stdout)["memory_bytes"]
    return memory
