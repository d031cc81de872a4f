"""A benchmark's own reference, asked in a confined process; the referee compares its answers.

Some questions are asked again in a fresh process, in random order: a reference that answers
differently for equal inputs ends the run.
"""

import math
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, cast

import torch

from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.cpu import CpuDevice
from benchmarks.harness.devices.layouts import Layout, torch_dtype
from benchmarks.harness.failures import ReferenceFailed, Role, SideFailed
from benchmarks.harness.sides import isolation
from benchmarks.harness.sides.processes import SideProcess
from benchmarks.harness.sides.reference_side import RESULT_BYTES, RESULT_DTYPES
from benchmarks.harness.sides.sandboxes import Sandbox

_RANDOM = random.SystemRandom()
_ALIGNMENT = 64
_SHARE_ASKED_AGAIN = 0.25

Tensors = Mapping[str, torch.Tensor]


class ForeignReference:
    """The reference processes of one run; the context ends them.

    They compute on the processor, also for a GPU's benchmark, whose device the sides have alone.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        *,
        device: Device,
        sandbox: Sandbox,
        folder: Path,
        threads: int,
    ) -> None:
        self._document = document
        self._device = device
        self._sandbox = sandbox
        self._folder = folder
        self._threads = threads
        self._stack = ExitStack()
        self._processes: list[SideProcess] = []
        self._memory = CpuDevice()
        self._asked_before: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def reference_step(
        self, *, state: Tensors, inputs: Tensors, axes: Mapping[str, int]
    ) -> dict[str, torch.Tensor]:
        """The Program's results. Raises ReferenceFailed."""
        return self._asked("program", state, inputs, axes)

    def reference(
        self, *, state: Tensors, inputs: Tensors, axes: Mapping[str, int]
    ) -> dict[str, torch.Tensor]:
        """The operator's results. Raises ReferenceFailed."""
        return self._asked("operator", state, inputs, axes)

    def _asked(
        self, level: str, state: Tensors, inputs: Tensors, axes: Mapping[str, int]
    ) -> dict[str, torch.Tensor]:
        try:
            return self._compared(level, state, inputs, axes)
        except ReferenceFailed:
            raise
        except SideFailed as error:
            raise ReferenceFailed(str(error), log=error.log) from error

    def _compared(
        self, level: str, state: Tensors, inputs: Tensors, axes: Mapping[str, int]
    ) -> dict[str, torch.Tensor]:
        question = level, state, inputs, axes
        found = self._answer(0, *question)
        first = level not in self._asked_before
        self._asked_before.add(level)
        if first or _RANDOM.random() < _SHARE_ASKED_AGAIN:
            # The other process has another history, so counting calls differs, too.
            again = self._answer(1, *question)
            for name, result in found.items():
                if not _same(result, again[name]):
                    raise ReferenceFailed(
                        f"the reference answers differently for equal inputs ({name} of the "
                        f"{level}): remove what is random or remembered from reference.py"
                    )
        return {name: each.to(self._device.torch_device) for name, each in found.items()}

    def _process(self, index: int) -> SideProcess:
        while len(self._processes) <= index:
            number = len(self._processes)
            process = self._stack.enter_context(
                SideProcess(
                    # Neither side: in the role's place in messages and errors only.
                    role=cast(Role, "reference"),
                    replicate=0,
                    scratch=self._folder / f"reference.{number}",
                    sandbox=self._sandbox.apart(self._folder / f"reference.{number}.cache"),
                    threads=self._threads,
                    stops_when_idle=True,
                )
            )
            process.start(
                {
                    "operator": self._document["operator"],
                    "threads": self._threads,
                    "address_space_bytes": isolation.address_space_bytes(self._memory),
                }
            )
            process.started()
            self._processes.append(process)
        return self._processes[index]

    def _answer(
        self, index: int, level: str, state: Tensors, inputs: Tensors, axes: Mapping[str, int]
    ) -> dict[str, torch.Tensor]:
        prefix = "program_" if level == "program" else ""
        definition, dtype = self._document["definition"], self._document["dtype"]
        layouts = {
            part: Layout.plan(definition[prefix + part], axes, dtype, 1)
            for part in ("state", "inputs")
        }
        outputs = _outputs(definition[f"{prefix}outputs"], axes)
        split = layouts["state"].nbytes
        given = self._memory.allocate(split + layouts["inputs"].nbytes, read_only=True)
        room = sum(each["nbytes"] for each in outputs)
        results = self._memory.allocate(room, read_only=False)
        try:
            places = {
                "state": layouts["state"].tensors(given.memory[:split], 0),
                "inputs": layouts["inputs"].tensors(given.memory[split:], 0),
            }
            for part, tensors in (("state", state), ("inputs", inputs)):
                for name, place in places[part].items():
                    place.copy_(tensors[name])
            handles, descriptors = [], []
            for arena in (given, results):
                handle, passed = arena.handle()
                handles.append(handle)
                descriptors += passed
            answer = self._process(index).ask(
                {
                    "type": "refer",
                    "level": level,
                    "axes": dict(axes),
                    "arenas": handles,
                    "outputs": outputs,
                    **{part: layout.as_data() for part, layout in layouts.items()},
                },
                expect="referred",
                limit_s=self._document["protocol"]["setup_limit_s"],
                doing="computing the reference",
                descriptors=descriptors,
            )
            return _read(results.memory, outputs, answer.get("dtypes"))
        finally:
            given.close()
            results.close()


def _outputs(specs: Sequence[Mapping[str, Any]], axes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Name, sizes and place of each result."""
    found, offset = [], 0
    for spec in specs:
        sizes = [axes[side] if isinstance(side, str) else side for side in spec["shape"]]
        nbytes = -(-math.prod(sizes) * RESULT_BYTES // _ALIGNMENT) * _ALIGNMENT
        found.append({"name": spec["name"], "sizes": sizes, "offset": offset, "nbytes": nbytes})
        offset += nbytes
    return found


def _read(
    memory: torch.Tensor, outputs: Sequence[Mapping[str, Any]], dtypes: object
) -> dict[str, torch.Tensor]:
    """Private copies of the results. Raises ReferenceFailed for an answer of another form."""
    if not isinstance(dtypes, dict):
        raise ReferenceFailed("the reference named no dtypes")
    found = {}
    for output in outputs:
        name = dtypes.get(output["name"])
        if name not in RESULT_DTYPES:
            raise ReferenceFailed(f"the reference answered {output['name']} in no known dtype")
        dtype = torch_dtype(name)
        nbytes = math.prod(output["sizes"]) * dtype.itemsize
        part = memory[output["offset"] : output["offset"] + nbytes].clone()
        found[output["name"]] = part.view(dtype).view(output["sizes"])
    return found


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two results have the same bits."""
    if one.dtype != other.dtype:
        return False
    return torch.equal(one.flatten().view(torch.uint8), other.flatten().view(torch.uint8))
