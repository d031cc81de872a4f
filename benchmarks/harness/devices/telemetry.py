"""Read the GPU's telemetry by NVML: clocks, power, temperature, throttling, ECC, processes.

Reads happen outside the clock. Tests pass a `Telemetry` of their own.
"""

import os
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.harness.devices.arenas import Device


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The GPU right after a round. `throttle` is NVML's bit mask of clock event reasons."""

    sm_mhz: int
    memory_mhz: int
    power_w: float
    temperature_c: int
    throttle: int


class Telemetry(Protocol):
    """A GPU's telemetry; values are None where the device does not report them."""

    def read(self) -> Reading:
        """The current reading."""

    def ecc_uncorrected(self) -> int | None:
        """Uncorrected memory errors since the driver was loaded."""

    def processes(self) -> list[int] | None:
        """Ids of the processes computing on the GPU."""

    def utilization_percent(self) -> int | None:
        """Share of the last sample period in which a kernel ran."""


@dataclass(frozen=True, kw_only=True)
class NoTelemetry:
    """No telemetry; `why` is the reason."""

    why: str


def open_for(device: Device) -> Telemetry | NoTelemetry:
    """Open the telemetry of a device."""
    if device.kind != "cuda":
        return NoTelemetry(why="there is no GPU in this run")
    try:
        import pynvml
    except ModuleNotFoundError:
        return NoTelemetry(why="nvidia-ml-py is not installed")
    try:
        opened = Nvml(pynvml)
        # Fail here, not in a round, if the device does not report clocks or power.
        opened.read()
        return opened
    except pynvml.NVMLError as error:
        return NoTelemetry(why=f"NVML: {error}")


class Nvml:
    """NVML on a GPU, by torch's number."""

    def __init__(self, nvml: Any, number: int = 0) -> None:
        import torch

        nvml.nvmlInit()
        self._nvml = nvml
        properties = torch.cuda.get_device_properties(number)
        uuid = getattr(properties, "uuid", None)
        if uuid is not None:
            text = str(uuid)
            name = text if text.startswith("GPU-") else f"GPU-{text}"
            self.gpu = nvml.nvmlDeviceGetHandleByUUID(name.encode())
        else:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
            chosen = visible[number] if number < len(visible) else ""
            self.gpu = nvml.nvmlDeviceGetHandleByIndex(int(chosen) if chosen.isdigit() else number)

    def read(self) -> Reading:
        nvml, gpu = self._nvml, self.gpu
        return Reading(
            sm_mhz=int(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM)),
            memory_mhz=int(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM)),
            power_w=round(nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3, 1),
            temperature_c=int(nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)),
            throttle=int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)),
        )

    def ecc_uncorrected(self) -> int | None:
        nvml = self._nvml
        return self._told(
            nvml.nvmlDeviceGetTotalEccErrors,
            nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            nvml.NVML_VOLATILE_ECC,
        )

    def processes(self) -> list[int] | None:
        try:
            found = self._nvml.nvmlDeviceGetComputeRunningProcesses(self.gpu)
        except self._nvml.NVMLError:
            return None
        return [int(process.pid) for process in found]

    def utilization_percent(self) -> int | None:
        try:
            return int(self._nvml.nvmlDeviceGetUtilizationRates(self.gpu).gpu)
        except self._nvml.NVMLError:
            return None

    def _told(self, ask: Any, *arguments: Any) -> int | None:
        try:
            return int(ask(self.gpu, *arguments))
        except self._nvml.NVMLError:
            return None
