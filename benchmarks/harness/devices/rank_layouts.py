"""Layouts of several ranks: the tensors of all in one memory of the referee.

A Definition with the axis `ranks` is computed by as many processes, each on a device of its own. A
tensor whose first axis is `ranks` is split over them, and each rank has its part without that axis;
any other tensor is replicated. The referee's memory holds one share after the other, in rank order
and laid out alike. Rank 1's part of x is its region "x@1".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.failures import SetupError

AXIS = "ranks"
# A share is an allocation of its own, in units of a GPU's pages.
SHARE_BYTES = 2 << 20
Tensors = Mapping[str, torch.Tensor]


def count(document: Mapping[str, Any]) -> int:
    """The number of ranks of a benchmark; 1 for one process a side. Raises SetupError."""
    if AXIS not in document["definition"]["axes"]:
        return 1
    counts = {workload["axes"][AXIS] for workload in document["workloads"]}
    if len(counts) != 1 or min(counts) < 2:
        raise SetupError("all workloads of a benchmark need the same number of ranks, at least 2")
    return int(counts.pop())


@dataclass(frozen=True, kw_only=True)
class RankedLayout(Layout):
    """The regions of all ranks; `share` is the layout of one rank's memory."""

    ranks: int
    share: Layout
    replicated: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        return {AXIS: [self.share.as_data()] * self.ranks}

    def replicate(self, memory: torch.Tensor) -> None:
        regions = {region.name: region for region in self.regions}
        for name in self.replicated:
            first = self.flat(memory, regions[f"{name}@0"])
            for rank in range(1, self.ranks):
                self.flat(memory, regions[f"{name}@{rank}"]).copy_(first)


def plan(
    specs: Sequence[Mapping[str, Any]],
    axes: Mapping[str, int],
    dtype: str,
    calls: int,
    strided: Sequence[str] = (),
) -> Layout:
    """Lay out `specs` as `Layout.plan` does, for every rank where the axes have `ranks`."""
    if AXIS not in axes:
        return Layout.plan(specs, axes, dtype, calls, strided)
    share = plan_share(specs, axes, dtype, calls, strided)
    nbytes = max(1, -(-share.nbytes // SHARE_BYTES)) * SHARE_BYTES
    regions = tuple(
        replace(region, name=f"{region.name}@{rank}", offset=region.offset + rank * nbytes)
        for rank in range(axes[AXIS])
        for region in share.regions
    )
    return RankedLayout(
        regions=regions,
        calls=calls,
        nbytes=nbytes * axes[AXIS],
        ranks=axes[AXIS],
        share=share,
        replicated=tuple(spec["name"] for spec in specs if not is_split(spec)),
    )


def plan_share(
    specs: Sequence[Mapping[str, Any]],
    axes: Mapping[str, int],
    dtype: str,
    calls: int,
    strided: Sequence[str] = (),
) -> Layout:
    """The layout of one rank's memory; of everything, where there is one rank."""
    local = [{**spec, "shape": spec["shape"][1:]} if is_split(spec) else spec for spec in specs]
    return Layout.plan(local, axes, dtype, calls, strided)


def is_split(spec: Mapping[str, Any]) -> bool:
    """Whether each rank has a part of its own of this tensor."""
    return bool(spec["shape"]) and spec["shape"][0] == AXIS


def of_all_ranks(
    reference: Callable[..., dict[str, torch.Tensor]], definition: Mapping[str, Any], prefix: str
) -> Callable[..., dict[str, torch.Tensor]]:
    """A reference of whole tensors, [ranks, …], as one of every rank's.

    `prefix` is "program_" or "". Every output has the axis `ranks`.
    """
    specs = {
        spec["name"]: spec for part in ("state", "inputs") for spec in definition[prefix + part]
    }

    def gathered(tensors: Tensors, ranks: int) -> dict[str, torch.Tensor]:
        names = dict.fromkeys(name.partition("@")[0] for name in tensors)
        return {
            name: torch.stack([tensors[f"{name}@{rank}"] for rank in range(ranks)])
            if is_split(specs[name])
            else tensors[f"{name}@0"]
            for name in names
        }

    def of_ranks(
        state: Tensors, inputs: Tensors, axes: Mapping[str, int]
    ) -> dict[str, torch.Tensor]:
        ranks = axes[AXIS]
        whole = reference(state=gathered(state, ranks), inputs=gathered(inputs, ranks), axes=axes)
        return {
            f"{name}@{rank}": part
            for name, tensor in whole.items()
            for rank, part in enumerate(tensor.unbind())
        }

    return of_ranks
