"""Kinds of events by category, in present and earlier spellings of kineto."""

from __future__ import annotations

import re
from typing import Final

HOST, KERNEL, COPY, MEMSET, CALL, ANNOTATION, FUNCTION, DEVICE_RANGE, IGNORED = range(9)

# Older kineto versions capitalised them and omitted "gpu_" and "cpu_".
CATEGORIES: Final[dict[str, int]] = {
    name: kind
    for kind, names in {
        HOST: "cpu_op operator cpu_instant_event",
        KERNEL: "kernel concurrent_kernel gpu_op",
        COPY: "gpu_memcpy memcpy",
        MEMSET: "gpu_memset memset",
        CALL: "cuda_runtime runtime cuda_driver driver hip_runtime hip_driver xpu_runtime "
        "privateuse1_runtime cuda_profiler_range",
        ANNOTATION: "user_annotation",
        FUNCTION: "python_function python",
        DEVICE_RANGE: "gpu_user_annotation",
        # The profiler's own work, and arrows from one event to another.
        IGNORED: "overhead trace ac2g fwdbwd async_cpu_to_gpu async_gpu",
    }.items()
    for name in names.split()
}

# torch records modules as "nn.Module: Linear_3"; the number distinguishes instances of a class.
MODULE: Final = "nn.Module: "
LAUNCHES: Final = re.compile(r"Launch(Cooperative)?Kernel|LaunchKernel|launchKernel|^cuLaunch")
GRAPH_LAUNCHES: Final = re.compile(r"GraphLaunch|graphLaunch")
SYNCHRONISES: Final = re.compile(r"Synchronize|synchronize")
# A plain cudaMemcpy both launches and waits; it counts as a launch.
COPIES: Final = re.compile(r"[mM]em(cpy|set)")
