"""Writes a trace of any size, as the PyTorch profiler would: for measuring its reader.

    python tests/engagements/evidence/generate.py FILE --megabytes 1000

About 200 bytes an event, so 1000 MB are about 5 million events: steps of a decoder layer with
operators, launches, the arrows between them, and kernels on two streams.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

HEAD = """
  {
    "schemaVersion": 1,
    "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,
      "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132
    }
    ],
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
"""
TAIL = """
  ],
  "traceName": "generated.json"
}
"""
OPERATORS = ("aten::linear", "aten::mm", "aten::view", "aten::_to_copy", "aten::add", "aten::mul")
KERNELS = (
    ("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_TNT", 45.0),
    (
        "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, "
        "cutlass::bfloat16_t>, false, false>(Flash_fwd_params)",
        120.0,
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add"
        "<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add"
        "<c10::BFloat16>, std::array<char*, 3ul>)",
        3.0,
    ),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 30.0),
)
START_US = 4385227047479.0


def events() -> Iterator[str]:
    """Events without end, in the order and the layout of kineto's file."""
    now, device_free = START_US, START_US
    correlation = 0
    for step in itertools.count(1):
        began = now
        for name, length in KERNELS * 8:
            for number, operator in enumerate(OPERATORS):
                yield _event("cpu_op", operator, 398, 398, now, 9.5 - number, _external(number))
                now += 0.25
            correlation += 1
            call = f'"External id": {correlation},"cbid": 211, "correlation": {correlation}'
            yield _event("cuda_runtime", "cudaLaunchKernel", 398, 398, now, 4.25, call)
            yield _arrow("s", correlation, 398, 398, now)
            device_free = max(device_free + 1.5, now + 6.0)
            stream = 20 if name.startswith("nccl") else 7
            yield _event("kernel", name, 0, stream, device_free, length, _launch(correlation))
            yield _arrow("f", correlation, 0, stream, device_free)
            device_free += length
            now += 5.0
        now = device_free + 20.0
        yield _event("user_annotation", f"ProfilerStep#{step}", 398, 398, began, now - began, "")


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


def _external(number: int) -> str:
    return f'"External id": {number},"Record function id": 0, "Ev Idx": {number}'


def _launch(correlation: int) -> str:
    return (
        f'"External id": {correlation}, "queued": 0, "device": 0, "context": 1, "stream": 7, '
        f'"correlation": {correlation}, "registers per thread": 27, "shared memory": 24, '
        '"blocks per SM": 0.242424, "warps per SM": 0.969697, "grid": [32, 1, 1], '
        '"block": [32, 4, 1], "est. achieved occupancy %": 2'
    )


def write(file: Path, size_bytes: int) -> int:
    """Write a whole trace of about `size_bytes` bytes; how many events it holds."""
    count = 0
    with open(file, "w") as out:
        out.write(HEAD)
        for event in events():
            out.write(f"{event}" if count == 0 else f",\n{event}")
            count += 1
            if count % 1000 == 0 and out.tell() >= size_bytes:
                break
        out.write(TAIL)
    return count


def main() -> None:
    """Write the file that the command line names, and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=float, default=1000.0, help="of a million bytes")
    asked = parser.parse_args()
    count = write(asked.file, int(asked.megabytes * 1e6))
    print(f"{asked.file}: {asked.file.stat().st_size:,} bytes, {count:,} events")


if __name__ == "__main__":
    main()
