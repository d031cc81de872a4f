"""What an operator is, as plain data: no torch here, so that the web tier may read it.

The words follow flashinfer-bench: a Definition is the operator, a Workload one point of its
axes with its traffic weight, a Program the end-to-end step that the operator sits in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

# Bytes of one number, by the dtypes that a benchmark may be of.
ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}

Axes = Mapping[str, int]
Distribution = Literal["normal", "uniform", "ones"]


@dataclass(frozen=True, kw_only=True)
class TensorSpec:
    """One tensor of a Definition or a Program.

    `shape` holds axis names or fixed lengths. `dtype` is a torch dtype's name, or "" for the
    benchmark's own. Random contents are drawn from `distribution` times `amplitude(axes)`:
    a weight names in `fan_in` the axes it sums over, so that activations stay near 1 at
    every size. Whole numbers: "uniform" is 0 up to the amplitude, itself excluded, "normal" is
    rounded and cut to the dtype's range; indices into an axis name it in `below`.
    """

    name: str
    shape: tuple[str | int, ...]
    dtype: str = ""
    distribution: Distribution = "normal"
    scale: float = 1.0
    fan_in: tuple[str, ...] = ()
    below: str = ""

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """The shape at one point of the axes; KeyError names an axis that is missing."""
        return tuple(axes[side] if isinstance(side, str) else side for side in self.shape)

    def amplitude(self, axes: Axes) -> float:
        """What the random contents are multiplied by: scale / sqrt(product of the fan-in).

        For indices `below` an axis its length.
        """
        if self.below:
            return float(axes[self.below])
        return self.scale / math.sqrt(math.prod(axes[axis] for axis in self.fan_in))


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far an output may be from the higher-precision reference.

    An element matches when |out - ref| <= max_abs + max_rel * |ref|. At least `matched_share`
    of the elements must match and none may be further off than `hard_cap_abs`.
    """

    max_abs: float
    max_rel: float
    matched_share: float
    hard_cap_abs: float


@dataclass(frozen=True, kw_only=True)
class Contents:
    """How a trial changes one tensor: times `scale`, then `plant` in one random element."""

    scale: float = 1.0
    plant: Literal["nan", "inf", "-inf"] | None = None


@dataclass(frozen=True, kw_only=True)
class SpecialValues:
    """Contents that the operator must stand, by tensor of its state and inputs.

    What comes of them is what the reference makes of them. `gain`: how many times further off
    than by the tolerance an honest result may be, because the contents magnify rounding.
    """

    name: str
    contents: Mapping[str, Contents]
    gain: float = 1.0


@dataclass(frozen=True, kw_only=True)
class HeldBack:
    """What a Solution is tried at once a run, outside the clock, beside the workloads.

    Sizes along the `free` axes are drawn at the run: 1 once, else odd up to half a workload's;
    a kernel may be made for the other axes alone. Inputs of the operator may have gaps along
    `strided`.
    """

    free: tuple[str, ...]
    strided: tuple[str, ...] = ()
    special: tuple[SpecialValues, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Definition:
    """An operator, and the end-to-end step (Program) that it sits in.

    State is allocated once, shared read-only with both sides and may be packed in `prepare`;
    inputs are new for every call.
    """

    operator: str
    title: str
    summary: str
    axes: Mapping[str, str]
    state: tuple[TensorSpec, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    program: str
    program_state: tuple[TensorSpec, ...]
    program_inputs: tuple[TensorSpec, ...]
    program_outputs: tuple[TensorSpec, ...]
    tolerances: Mapping[str, Tolerance]
    held_back: HeldBack = field(default_factory=lambda: HeldBack(free=()))

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data, as it is sealed in a benchmark document."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """An off-the-shelf Solution by name: the package it comes from and what it is."""

    name: str
    package: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One point of the axes and its share of the traffic (weights add up to 1)."""

    name: str
    axes: Mapping[str, int]
    weight: float


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How a benchmark is measured; sealed with it. Times are limits on one side.

    An inconclusive run goes on by `look_every` replicates at a time. `warmup_ms` of rounds, and
    `warmup_rounds` at least, go before those that count. `aa_rounds` rounds hold the baseline
    against itself and `operator_rounds` measure the operator alone, 0 for neither. A pair of
    rounds is discarded when a side's SM clock is lower than its median by more than the share
    `clock_band`, or the hardware throttled; more than the share `max_discarded` of them makes
    the run invalid.
    Where the baseline's rounds scatter, or its A/A pair comes apart, by more than the share
    `noise_band`, a ratio no farther than that from the target is inconclusive.
    A round longer than its side's usual by more than the share `interrupted_band` of the shorter
    side's, and by more than that side's rounds scatter, is left out with its pair.
    `held_back_shapes` is how many sizes are drawn for the trials of a run.
    """

    replicates: int
    max_replicates: int
    rounds: int
    warmup_rounds: int
    round_ms: float
    max_calls: int
    checked_calls: int
    setup_limit_s: float
    round_limit_s: float
    held_back_shapes: int = 0
    look_every: int = 2
    warmup_ms: float = 0.0
    aa_rounds: int = 0
    operator_rounds: int = 0
    clock_band: float = 0.15
    max_discarded: float = 0.25
    noise_band: float = 0.1
    interrupted_band: float = 0.03


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A ready-made benchmark of an operator: sizes, dtype, baseline and protocol for a device."""

    title: str
    device: Literal["cpu", "cuda"]
    hardware: str | None
    dtype: str
    launch: Literal["eager", "graph"]
    baseline: str
    candidate: str
    target: float
    confidence: float
    workloads: tuple[Workload, ...]
    protocol: Protocol


# How a table begins the reason.
NOT_AVAILABLE = "not available: "


class NotAvailable(RuntimeError):
    """A baseline or candidate cannot run here; the text says what to install."""
