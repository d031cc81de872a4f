"""Choose the benchmark sizes for this machine."""

from __future__ import annotations

import json
import subprocess
import sys

from django.core.management.base import CommandError

from kernels import catalogue

# Runs in a separate process: the web tier never imports torch.
PROBE = """
import json, torch
cuda = torch.cuda.is_available()
print(json.dumps({
    "memory_bytes": torch.cuda.get_device_properties(0).total_memory if cuda else None
}))
"""
GIB = 2**30
# The h200 presets hold 32 separate 32K caches in four layers, twice.
H200_MEMORY_BYTES = 100 * GIB


def preset_for(operator: str) -> str:
    """The largest preset of the catalogue that fits this machine: "h200", "cuda" or "cpu"."""
    candidates: tuple[str, ...] = ("cpu",)
    memory_bytes = _gpu_memory_bytes()
    if memory_bytes is not None:
        candidates = ("cuda", "cpu")
        if memory_bytes >= H200_MEMORY_BYTES:
            candidates = ("h200", *candidates)
    available = catalogue.presets(operator)
    return next(preset for preset in candidates if preset in available)


def _gpu_memory_bytes() -> int | None:
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False, timeout=120
    )
    if probe.returncode != 0:
        reason = probe.stderr.strip().splitlines()[-1:] or ["no output"]
        raise CommandError(f"Torch cannot be imported ({reason[0]}). Run: make install")
    memory: int | None = json.loads(probe.stdout)["memory_bytes"]
    return memory
