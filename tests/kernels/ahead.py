"""Compile the kernels for an H200 on a machine without a GPU: `python -m tests.kernels.ahead`.

Every Triton and Gluon candidate, and every `.cu` file if cuda.core is installed, is prepared and
run on tensors of zeros of its h200 preset's sizes and of size 1, but launches only compile: the
first of each kernel, at the first workload in its default configuration, to machine code; all
others, and all other configurations, until their types are known (--thorough: to machine code).
This finds a loop that changes a type, a size of 1 that became a constant and a tile too large for
shared memory, none of which Triton's interpreter reports. Prints one line of JSON a candidate;
"problem" is null if everything compiled. --variants compiles a candidate's cuts instead, to machine
code at the first workload, with registers and spilled bytes.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import triton
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from kernels import catalogue, cuda, peers, solutions, tensor_maps, tuning
from kernels.definition import Axes, NotAvailable, TensorSpec
from tests.kernels import resources

HOPPER = GPUTarget("cuda", 90, 32)
# Limit of one block on compute capability 9.0: CUDA C++ Programming Guide, table of technical
# specifications.
SHARED_BYTES = 227 * 1024
H200 = SimpleNamespace(multi_processor_count=132, L2_cache_size=60 << 20)
ARCHITECTURE = "sm_90a"
# Elements above which torch's own work on a tensor would take noticeable time.
LARGE = 1 << 18
SAME_SHAPE = (
    torch.ops.aten._to_copy,
    torch.ops.aten.clone,
    torch.ops.aten.mul,
    torch.ops.aten.zeros_like,
)
PREFIXES = ("triton_", "cuda_")
# Operators whose gradients are kernels of ours; others use library products.
TRAINED = (
    "embedding_lookup",
    "flash_attention",
    "rotary_embedding",
    "sparse_mask_attention",
)


class _TypesAreKnown(Exception):
    """The front end has finished a kernel."""


class _Hopper:
    """The driver calls that Triton makes before it compiles."""

    def get_current_target(self) -> GPUTarget:
        return HOPPER

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def named() -> list[str]:
    """operator/candidate of everything in the catalogue that can be compiled here."""
    suffixes = (".py", ".cu") if _has_cuda_core() else (".py",)
    return [
        f"{operator}/{name}"
        for operator in catalogue.operators()
        for name, file in catalogue.candidates(operator).items()
        if name.startswith(PREFIXES) and file.suffix in suffixes
    ]


def _has_cuda_core() -> bool:
    try:
        return importlib.util.find_spec("cuda.core") is not None
    except ModuleNotFoundError:
        return False


class _Compiler:
    """Replaces Triton's launcher; `kernels` are those compiled to machine code."""

    def __init__(self, *, thorough: bool) -> None:
        self.kernels: list[dict[str, Any]] = []
        self.cut = ""
        self._thorough = self._whole = thorough
        self._seen: set[str] = set()
        self._first = False
        self._launched = JITFunction.run
        self._stages = CUDABackend.add_stages

    def launch(self, function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        """In place of JITFunction.run."""
        self._first = self._whole and function.__name__ not in self._seen
        if self._whole:
            self._seen.add(function.__name__)
        try:
            kernel = self._launched(function, *args, grid=grid, warmup=True, **kwargs)
        except _TypesAreKnown:
            return
        made = {"kernel": kernel.metadata.name, "shared_bytes": kernel.metadata.shared}
        if self._thorough:
            made |= {"cut": self.cut, "programs": grid, **resources.of(kernel.asm["cubin"])}
        self.kernels.append(made)

    def add_stages(self, backend: Any, stages: dict[str, Any], *args: Any) -> None:
        """In place of CUDABackend.add_stages: stop after the front end unless all is compiled."""
        self._stages(backend, stages, *args)
        if not (self._thorough or self._first):
            stages["ttgir"] = _stop

    def try_all(self, *, configs: Sequence[Any], run: Callable[[Any], object], **_: Any) -> Any:
        """In place of tuning.best, which skips configurations that do not compile."""
        whole = self._whole
        for config in configs[1:]:
            self._whole = self._thorough
            run(config)
        self._whole = whole
        return configs[0]

    def compile_source(
        self, source: str, name: str, *, options: Sequence[tuple[str, str]] = ()
    ) -> Callable[..., None]:
        """In place of kernels.cuda.compile, which needs the driver; always to machine code."""
        code = bytes(cuda.compile_for(ARCHITECTURE, source, options=options).code)
        waits = resources.serialised(code)

        def launch(*args: object, shared_bytes: int = 0, early: bool = False) -> None:
            made = {"kernel": name, "shared_bytes": shared_bytes, "serialised": waits}
            self.kernels.append(made | (resources.of(code) if self._thorough else {}))

        return launch

    def prepare_and_run(
        self, reference: str, axes: Axes, dtype: torch.dtype, *, whole: bool, variants: bool = False
    ) -> None:
        """Run one candidate at one workload, tuned or with each of its cuts."""
        self._whole = whole or self._thorough
        what = catalogue.definition(reference.partition("/")[0])
        solution = solutions.candidate(reference)
        module = solutions.module_of(solutions.resolve(reference))
        with suppress(ModuleNotFoundError):
            importlib.import_module(f"kernels.{what.operator}.backward")
        state, inputs, out = (
            _zeros(specs, axes, dtype) for specs in (what.state, what.inputs, what.outputs)
        )
        # Kernels are already built for the GPU; this lets candidates accept CPU tensors.
        with patch.dict(os.environ, TRITON_INTERPRET="1"):
            if not variants:
                solution.run(solution.prepare(state, axes), inputs, out)
                if what.operator in TRAINED and solution.gradients is not None:
                    solution.gradients(state, inputs, out, out, axes)
                return
            for self.cut, config in module.variants(dtype.itemsize).items():
                with suppress(NotAvailable):
                    module.run(module.prepare(state, axes, config), inputs, out)


def _stop(*_: Any) -> Any:
    raise _TypesAreKnown


def compiled(
    reference: str, dtype: str, *, thorough: bool, variants: bool = False
) -> list[dict[str, Any]]:
    """The kernels that one candidate launches at its preset's workloads."""
    compiler = _Compiler(thorough=thorough or variants)
    stages, launch = compiler.add_stages, compiler.launch
    with (
        patch.object(JITFunction, "run", lambda *args, **named: launch(*args, **named)),
        patch.object(CUDABackend, "add_stages", lambda *args: stages(*args)),
        patch.object(tuning, "best", compiler.try_all),
        patch.object(cuda, "compile", compiler.compile_source),
        # The driver would encode the map; a launch that only compiles needs none.
        patch.object(tensor_maps, "tensor_map", lambda *args, **named: 0),
        patch.object(peers, "workspace", _alone),
        _ShapesOnly(),
    ):
        everywhere = _sizes(reference.partition("/")[0])
        for place, axes in enumerate(everywhere[:1] if variants else everywhere):
            # A kernel may decline some sizes, but not the first.
            with nullcontext() if place == 0 else suppress(NotAvailable):
                kind = getattr(torch, dtype)
                compiler.prepare_and_run(reference, axes, kind, whole=place == 0, variants=variants)
    return compiler.kernels


def _sizes(operator: str) -> list[Axes]:
    """The preset's workloads, and the first of them with every free axis at 1.

    Triton compiles a 1 as a constant, and code that works with a number may fail with it.
    """
    known = catalogue.presets(operator)
    preset = known["h100_x2" if catalogue.has_ranks(operator) else "h200"]
    everywhere = [load.axes for load in preset.workloads]
    free = catalogue.definition(operator).held_back.free
    return [*everywhere, {**everywhere[0], **dict.fromkeys(free, 1)}]


def _zeros(specs: tuple[TensorSpec, ...], axes: Axes, dtype: torch.dtype) -> dict[str, Tensor]:
    return {
        spec.name: _untouched(spec.sizes(axes), getattr(torch, spec.dtype) if spec.dtype else dtype)
        for spec in specs
    }


def _alone(name: str, nbytes: int, rows: int) -> peers.Workspace:
    """A rank's memory without any other rank."""
    return peers.Workspace(
        buffer=_untouched([nbytes], torch.uint8),
        addresses=torch.zeros(8, dtype=torch.int64),
        counts=torch.zeros(rows, dtype=torch.int32),
        rank=1,
    )


def _untouched(sizes: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Zeros that occupy no memory until they are read, so that sizes can be the H200's.

    NumPy gets zero pages from the system, where torch writes zeros.
    """
    content = np.zeros(math.prod(sizes) * dtype.itemsize, np.uint8)
    return torch.from_numpy(content).view(dtype).reshape(tuple(sizes))


class _ShapesOnly(TorchDispatchMode):
    """Skip torch's work on large tensors between a candidate's launches.

    Candidates pack weights and sort rows at an H200's sizes. Here such results are zeros of the
    operand's shape, and nothing is written.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise torch imports its compiler (4 s) only to exclude this class from it.
        return False

    def __torch_dispatch__(
        self,
        operation: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if not args or not isinstance(args[0], Tensor) or args[0].numel() <= LARGE:
            return operation(*args, **named)
        if operation._schema.is_mutable:
            return named.get("out", args[0])
        if operation.overloadpacket in SAME_SHAPE:
            return _untouched(args[0].shape, named.get("dtype") or args[0].dtype)
        return operation(*args, **named)


def _as_if_on_a_gpu() -> Iterator[Any]:
    """Patches that answer a candidate's questions about the GPU as an H200 would."""
    yield patch.object(torch.cuda, "is_available", lambda: True)
    yield patch.object(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
    yield patch.object(torch.cuda, "get_device_properties", lambda device=None: H200)
    yield patch.object(torch.Tensor, "is_cuda", True)


def _problem(kernels: Sequence[dict[str, Any]]) -> str | None:
    if not kernels:
        return "nothing was launched"
    large = [one for one in kernels if one["shared_bytes"] > SHARED_BYTES]
    return f"more than {SHARED_BYTES} bytes of shared memory: {large}" if large else None


def main() -> None:
    """One line of JSON for each candidate named, or for all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.ahead")
    parser.add_argument("references", nargs="*", metavar="OPERATOR/NAME", default=named())
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--variants", action="store_true")
    asked = parser.parse_args()
    if os.environ.get("TRITON_INTERPRET") == "1":
        sys.exit("with TRITON_INTERPRET=1 nothing is compiled")
    driver.set_active(_Hopper())
    for answer in _as_if_on_a_gpu():
        answer.start()
    for reference in asked.references:
        kernels: list[dict[str, Any]] = []
        try:
            kernels = compiled(
                reference, asked.dtype, thorough=asked.thorough, variants=asked.variants
            )
            problem = _problem(kernels)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        line = {"candidate": reference, "problem": problem, "kernels": kernels}
        print(json.dumps(line | {"triton": triton.__version__}), flush=True)


if __name__ == "__main__":
    main()
