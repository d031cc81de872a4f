"""Telemetry of all ranks' GPUs, and how they are linked."""

from collections.abc import Sequence
from typing import Any

from benchmarks.harness.devices.telemetry import NoTelemetry, Nvml, Reading, Telemetry


def open_for(kind: str, ranks: int) -> Telemetry | NoTelemetry:
    """Open the telemetry of the first `ranks` GPUs."""
    if kind != "cuda":
        return NoTelemetry(why="there is no GPU in this run")
    try:
        import pynvml
    except ModuleNotFoundError:
        return NoTelemetry(why="nvidia-ml-py is not installed")
    try:
        opened = RankedTelemetry([Nvml(pynvml, gpu) for gpu in range(ranks)])
        opened.read()
        return opened
    except pynvml.NVMLError as error:
        return NoTelemetry(why=f"NVML: {error}")


class RankedTelemetry:
    """The worst reading of any rank, as the slowest decides the time."""

    def __init__(self, gpus: Sequence[Telemetry]) -> None:
        self._gpus = gpus

    def read(self) -> Reading:
        """The lowest clocks, the highest power and temperature, every reason to throttle."""
        readings = [gpu.read() for gpu in self._gpus]
        throttle = 0
        for reading in readings:
            throttle |= reading.throttle
        return Reading(
            sm_mhz=min(reading.sm_mhz for reading in readings),
            memory_mhz=min(reading.memory_mhz for reading in readings),
            power_w=max(reading.power_w for reading in readings),
            temperature_c=max(reading.temperature_c for reading in readings),
            throttle=throttle,
        )

    def ecc_uncorrected(self) -> int | None:
        counts = [gpu.ecc_uncorrected() for gpu in self._gpus]
        return None if None in counts else sum(count or 0 for count in counts)

    def processes(self) -> list[int] | None:
        listed = [gpu.processes() for gpu in self._gpus]
        if any(pids is None for pids in listed):
            return None
        return sorted({pid for pids in listed for pid in pids or ()})

    def utilization_percent(self) -> int | None:
        shares = [gpu.utilization_percent() for gpu in self._gpus]
        return max((share for share in shares if share is not None), default=None)


def topology(kind: str, ranks: int) -> dict[str, Any]:
    """The record's `environment.ranks`: GPUs by rank and the link between each pair."""
    if kind != "cuda":
        return {"count": ranks, "devices": None, "links": None}
    import torch

    names = [torch.cuda.get_device_name(gpu) for gpu in range(ranks)]
    nvml, gpus = _handles(ranks)
    devices = [
        {"name": name, "numa_node": _numa(nvml, gpu)} for name, gpu in zip(names, gpus, strict=True)
    ]
    links = [
        {
            "ranks": [one, other],
            "peer_access": torch.cuda.can_device_access_peer(one, other),
            "nvlinks": _nvlinks(nvml, gpus[one], gpus[other]),
            "path": _path(nvml, gpus[one], gpus[other]),
        }
        for one in range(ranks)
        for other in range(one + 1, ranks)
    ]
    return {"count": ranks, "devices": devices, "links": links}


def _handles(ranks: int) -> tuple[Any, list[Any]]:
    """NVML and each rank's GPU; None where it cannot be asked: names and peer access are known."""
    try:
        import pynvml
    except ModuleNotFoundError:
        return None, [None] * ranks
    try:
        return pynvml, [Nvml(pynvml, gpu).gpu for gpu in range(ranks)]
    except pynvml.NVMLError:
        return None, [None] * ranks


# By the common ancestor of two GPUs on the bus, as `nvidia-smi topo` prints it.
_PATHS = {0: "PSB", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}


def _path(nvml: Any, one: Any, other: Any) -> str | None:
    if nvml is None:
        return None
    try:
        return _PATHS.get(int(nvml.nvmlDeviceGetTopologyCommonAncestor(one, other)))
    except nvml.NVMLError:
        return None


def _nvlinks(nvml: Any, one: Any, other: Any) -> int | None:
    """The active NVLinks of the first GPU, if the two reach each other by NVLink."""
    if nvml is None:
        return None
    try:
        status = nvml.nvmlDeviceGetP2PStatus(one, other, nvml.NVML_P2P_CAPS_INDEX_NVLINK)
        if status != nvml.NVML_P2P_STATUS_OK:
            return 0
    except nvml.NVMLError:
        return None
    active = 0
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        try:
            active += int(nvml.nvmlDeviceGetNvLinkState(one, link))
        except nvml.NVMLError:
            break
    return active


def _numa(nvml: Any, gpu: Any) -> int | None:
    if nvml is None:
        return None
    try:
        node = int(nvml.nvmlDeviceGetNumaNodeId(gpu))
    except (nvml.NVMLError, AttributeError):
        return None
    return node if node >= 0 else None
