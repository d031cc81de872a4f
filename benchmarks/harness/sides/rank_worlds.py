"""Join the group of a side's ranks, inside a rank's process.

The ranks find each other by a file in their scratch folder and talk over the loopback of their own
network, which neither the other side nor the referee shares. Solutions use torch.distributed's
default group: gloo on processors, NCCL on GPUs.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.harness.devices import rank_devices
from benchmarks.harness.devices.arenas import Device

_STORE = "ranks.store"
# The referee's limits end a side that waits longer.
_LONGEST = timedelta(minutes=30)


def join(start: dict[str, Any]) -> Device:
    """Join the group and return the rank's device; every rank must, or none returns."""
    import torch
    import torch.distributed as dist

    rank, ranks = start["rank"], start["ranks"]
    device = rank_devices.of_rank(start["device"], rank)
    on_gpu = device.kind == "cuda"
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if on_gpu else "gloo",
        store=dist.FileStore(str(Path.cwd() / _STORE), ranks),
        rank=rank,
        world_size=ranks,
        timeout=_LONGEST,
        device_id=torch.device("cuda", rank) if on_gpu else None,
    )
    return device
