"""Read a Chrome trace in bounded memory."""

from __future__ import annotations

from typing import Any

from engagements.evidence.readers.chrome_trace.blocks import Blocks
from engagements.evidence.readers.chrome_trace.collecting import Collector
from engagements.evidence.readers.chrome_trace.events import decode, integer
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.opening import Opened
from engagements.evidence.readers.recording import Recording


def record(opened: Opened) -> Recording:
    """Record a trace. EvidenceError when it is invalid or truncated."""
    collector = Collector()
    blocks = Blocks(opened, decode)
    for events in blocks:
        collector.take(events)
    recording = collector.recording
    if recording.events == 0:
        raise EvidenceError("The trace has no events", code="evidence.no_events")
    if recording.high_us < recording.low_us:
        raise EvidenceError(
            "The trace has no complete events (phase X, with start and duration)",
            code="evidence.no_events",
        )
    if collector.left_out:
        recording.warn(
            f"{collector.left_out:,} events without a start or a valid duration were left out."
        )
    if rank := _rank(blocks.metadata.get("distributedInfo")):
        recording.warn(f"This is the trace of {rank}; the others are not in it.")
    recording.producer = _producer(blocks.metadata)
    recording.device_names = _device_names(blocks.metadata.get("deviceProperties"))
    return recording


def _producer(metadata: dict[str, Any]) -> str:
    if "schemaVersion" not in metadata:
        return "Chrome trace"
    parts = ["PyTorch profiler"]
    for key, label in (("cuda_runtime_version", "CUDA"), ("hip_runtime_version", "HIP")):
        version = integer(metadata.get(key), 0)
        if version > 0:
            parts.append(f"{label} {version // 1000}.{version % 1000 // 10}")
    return ", ".join(parts)


def _rank(distributed: Any) -> str:
    """Describe the rank of several processes; "" for a single or unknown one."""
    if not isinstance(distributed, dict):
        return ""
    rank, ranks = (integer(distributed.get(key), -1) for key in ("rank", "world_size"))
    return f"rank {rank} of {ranks}" if rank >= 0 and ranks > 1 else ""


def _device_names(properties: Any) -> dict[int, str]:
    """Return device names by number; entries without either are skipped."""
    names: dict[int, str] = {}
    for entry in properties[:1024] if isinstance(properties, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            number = integer(entry.get("id"), -1)
            if number >= 0:
                names[number] = entry["name"][:200]
    return names
