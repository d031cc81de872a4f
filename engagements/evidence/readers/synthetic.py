"""Write a synthetic PyTorch profiler trace of any size, to measure its reader.

    python -m engagements.evidence.readers.synthetic FILE --events 5000000

Steps of a large model on two GPUs: operators inside operators with the shapes of their inputs,
modules, launches, the arrows from launch to kernel, and kernels on two streams a GPU. The same
count gives the same file, byte by byte; an event takes about 230 bytes, so five million are more
than 1 GB.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

EVENTS: Final = 5_000_000
DEVICES: Final = 2
LAYERS: Final = 80
TOKENS: Final = 32
START_US: Final = 4385227047479.0
PROCESS: Final = 398

HEAD: Final = """
  {
    "schemaVersion": 1,
    "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,
      "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132
    },
    {
      "id": 1, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,
      "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132
    }
    ],
  "cuda_runtime_version": 13000,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
"""
TAIL: Final = """
  ],
  "traceName": "synthetic.json"
}
"""
# Operations of a layer: nested operators, kernel, duration, stream.
LAYER: Final = (
    (("aten::rms_norm", "aten::_fused_rms_norm", "aten::empty"), "norm", 4.0, 7),
    (("aten::linear", "aten::t", "aten::transpose", "aten::matmul", "aten::mm"), "qkv", 38.0, 7),
    (("aten::mul", "aten::slice", "aten::as_strided"), "rotary", 3.0, 7),
    (("aten::scaled_dot_product_attention", "aten::_flash_attention_forward"), "flash", 95.0, 7),
    (("aten::linear", "aten::t", "aten::transpose", "aten::matmul", "aten::mm"), "out", 21.0, 7),
    (("c10d::allreduce_",), "nccl", 24.0, 20),
    (("aten::linear", "aten::t", "aten::transpose", "aten::matmul", "aten::mm"), "up", 61.0, 7),
    (("aten::silu", "aten::empty_like"), "silu", 4.5, 7),
    (("aten::linear", "aten::t", "aten::transpose", "aten::matmul", "aten::mm"), "up", 58.0, 7),
)
KERNELS: Final = {
    "norm": "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel"
    "<c10::BFloat16, float, true>(int, float, c10::BFloat16 const*, c10::BFloat16*)",
    "qkv": "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_TNT",
    "out": "nvjet_sm90_tst_64x32_64x11_4x1_v_bz_TNT",
    "up": "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNT",
    "rotary": "triton_poi_fused_rotary_0",
    "silu": "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel"
    "(at::TensorIteratorBase&), std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
    "flash": "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, "
    "cutlass::bfloat16_t>, false, true>(Flash_fwd_params)",
    "nccl": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}


class Rank:
    """A device and its launching host thread."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._thread = PROCESS + device
        # Seeded by the device, for a reproducible trace.
        self._random = random.Random(device)  # noqa: S311
        self._now = START_US + device
        self._device_free = self._now
        self._number = device

    def step(self, number: int) -> Iterator[str]:
        """Yield a step: its tokens, then the annotation around them."""
        began = self._now
        for _ in range(TOKENS):
            yield from self._token()
        name = f"ProfilerStep#{number}"
        yield self._on_host("user_annotation", name, began, self._now - began)

    def _token(self) -> Iterator[str]:
        for layer in range(LAYERS):
            began = self._now
            for operators, kernel, length, stream in LAYER:
                yield from self._operator(operators)
                yield from self._launch(KERNELS[kernel], length, stream)
            module = f"nn.Module: DecoderLayer_{layer}"
            yield self._on_host("python_function", module, began, self._now - began)
        # The host waits for its device, then the device waits for the next token.
        waited = max(0.0, self._device_free - self._now)
        yield self._on_host("cuda_runtime", "cudaDeviceSynchronize", self._now, waited)
        self._now += waited + 180.0

    def _operator(self, names: tuple[str, ...]) -> Iterator[str]:
        """Yield nested operators, every other one with input shapes."""
        length = 9.0 * self._random.uniform(0.8, 1.5)
        for depth, name in enumerate(names):
            shapes = '"Input Dims": [[32, 4096], [4096, 4096]], ' if depth % 4 == 0 else ""
            yield self._on_host("cpu_op", name, self._now, length / (depth + 1), shapes)
            self._now += 0.4

    def _launch(self, kernel: str, length: float, stream: int) -> Iterator[str]:
        self._number += DEVICES
        number, device, thread = self._number, self._device, self._thread
        call = f'"External id": {number}, "cbid": 211, "correlation": {number}'
        launched = self._now
        yield _event("cuda_runtime", "cudaLaunchKernel", PROCESS, thread, launched, 4.25, call)
        yield _arrow("s", number, PROCESS, thread, launched)
        length *= self._random.uniform(0.95, 1.1)
        start = max(self._device_free + 1.2, launched + 6.0)
        args = (
            f'"External id": {number}, "queued": 0, "device": {device}, "context": 1, '
            f'"stream": {stream}, "correlation": {number}, "registers per thread": 168, '
            '"shared memory": 227328, "blocks per SM": 1.0, "warps per SM": 12.0, '
            '"grid": [132, 1, 1], "block": [384, 1, 1], "est. achieved occupancy %": 19'
        )
        yield _event("kernel", kernel, device, stream, start, length, args)
        yield _arrow("f", number, device, stream, start)
        # A collective overlaps the following work.
        self._device_free = start + (length if stream == LAYER[0][3] else length / 4)
        self._now += 5.0

    def _on_host(
        self, category: str, name: str, start: float, length: float, more: str = ""
    ) -> str:
        args = f'"External id": {self._number}, {more}"Ev Idx": {self._number}'
        return _event(category, name, PROCESS, self._thread, start, length, args)


def events() -> Iterator[str]:
    """Yield events endlessly, in kineto's layout."""
    ranks = [Rank(device) for device in range(DEVICES)]
    for number in itertools.count(1):
        for together in zip(*(rank.step(number) for rank in ranks), strict=True):
            yield from together


def _event(
    category: str, name: str, process: int, thread: int, start: float, length: float, args: str
) -> str:
    return (
        f'  {{\n    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {process}, '
        f'"tid": {thread},\n    "ts": {start:.3f}, "dur": {length:.3f},\n    "args": {{\n'
        f"      {args}\n    }}\n  }}"
    )


def _arrow(phase: str, number: int, process: int, thread: int, start: float) -> str:
    return (
        f'  {{\n    "ph": "{phase}", "id": {number}, "pid": {process}, "tid": {thread}, '
        f'"ts": {start:.3f},\n    "cat": "ac2g", "name": "ac2g"\n  }}'
    )


def write(file: Path, count: int = EVENTS) -> None:
    """Write a trace of `count` events."""
    with open(file, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for number, event in enumerate(itertools.islice(events(), count)):
            out.write(f",\n{event}" if number else event)
        out.write(TAIL)


def main() -> None:
    """Write the file of the command line and print its size."""
    parser = argparse.ArgumentParser(prog="python -m engagements.evidence.readers.synthetic")
    parser.add_argument("file", type=Path)
    parser.add_argument("--events", type=int, default=EVENTS)
    asked = parser.parse_args()
    write(asked.file, asked.events)
    print(f"{asked.file}: {asked.events:,} events, {asked.file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
