"""An operator as plain data, without torch, so that the web tier can read it.

The terms follow flashinfer-bench: a Definition is the operator, a Workload one point of its
axes with its traffic weight, a Program the end-to-end step that the operator sits in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import ModuleType
from typing import Any, Literal

# Bytes of one number, for every dtype of a benchmark.
ITEM_BYTES = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}
# Those of every tensor, such as of indices.
STORED_BYTES = {
    **ITEM_BYTES,
    **{"float64": 8, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1},
}

Axes = Mapping[str, int]
Distribution = Literal["normal", "uniform", "ones", "offsets", "permutation"]
# Of integers that point into the axis `below`.
INDEX_DISTRIBUTIONS = ("offsets", "permutation")


@dataclass(frozen=True, kw_only=True)
class TensorSpec:
    """One tensor of a Definition or a Program.

    `shape` holds axis names or fixed lengths. `dtype` is a torch dtype's name, or "" for the
    benchmark's own. Random contents are drawn from `distribution` and multiplied by
    `amplitude(axes)`; `fan_in` are the axes that a weight sums over, so that activations stay near
    1 at every size. For integers "uniform" is 0 up to the amplitude, exclusive, and "normal" is
    rounded and clamped to the dtype's range; `below` is the axis that indices point into.
    "offsets" ascend from 0 to the length of that axis, as the borders of a ragged batch;
    "permutation" draws indices without repeating one, as a page table of unshared pages.
    """

    name: str
    shape: tuple[str | int, ...]
    dtype: str = ""
    distribution: Distribution = "normal"
    scale: float = 1.0
    fan_in: tuple[str, ...] = ()
    below: str = ""

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """The shape at one point of the axes. KeyError for a missing axis."""
        return tuple(axes[side] if isinstance(side, str) else side for side in self.shape)

    def amplitude(self, axes: Axes) -> float:
        """The factor of the random contents: scale / sqrt(product of the fan-in).

        For indices it is the length of the axis in `below`.
        """
        if self.below:
            return float(axes[self.below])
        return self.scale / math.sqrt(math.prod(axes[axis] for axis in self.fan_in))


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """Bounds on the difference between an output and the higher-precision reference.

    An element matches if |out - ref| <= max_abs + max_rel * |ref|. At least `matched_share` of the
    elements must match, and no difference may exceed `hard_cap_abs`. Over all checked elements, the
    RMS error may be `rms_factor` times the baseline's own; None: it is not compared.
    """

    max_abs: float
    max_rel: float
    matched_share: float
    hard_cap_abs: float
    rms_factor: float | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A trial's change to one tensor: multiply by `scale`, then put `plant` in a random element."""

    scale: float = 1.0
    plant: Literal["nan", "inf", "-inf"] | None = None


@dataclass(frozen=True, kw_only=True)
class SpecialValues:
    """Contents of state and inputs, by tensor, at which the operator must match the reference.

    `gain` multiplies the tolerance, for contents that magnify rounding.
    """

    name: str
    contents: Mapping[str, Contents]
    gain: float = 1.0


@dataclass(frozen=True, kw_only=True)
class HeldBack:
    """Sizes and contents of the correctness trials, once a run and outside the clock.

    Sizes along the `free` axes are drawn at the run: 1 once, otherwise odd and up to half of a
    workload's. A kernel may be specialised for all other axes. Inputs may have gaps along
    `strided`.
    """

    free: tuple[str, ...]
    strided: tuple[str, ...] = ()
    special: tuple[SpecialValues, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Definition:
    """An operator, and the end-to-end step (Program) around it.

    State is allocated once, shared read-only with both sides, and may be packed in `prepare`.
    Inputs are new for every call. `tolerances` are the Program's by dtype, `operator_tolerances`
    those of the operator alone; without them, the Program's. `chain` names, by program input, the
    program output of a call that signs it for the next one (`benchmarks.harness.devices.chaining`),
    as decoding feeds its results back. Without it, calls are independent.
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
    operator_tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    chain: Mapping[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data, as it is sealed in a benchmark document."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if not self.chain:
            del data["chain"]
        return data


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """An off-the-shelf Solution: its name, package and description."""

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
class Slot:
    """Calls of the operator that one step makes at one point of the operator's axes.

    An op.py whose step calls the operator in several shapes defines `slots(axes)`; the others' call
    it once a layer at the workload's axes.
    """

    axes: Axes
    calls: int


def slots_of(op: ModuleType, axes: Axes) -> tuple[Slot, ...]:
    """The calls of an operator in one step, by its op.py."""
    if hasattr(op, "slots"):
        found: tuple[Slot, ...] = op.slots(axes)
        return found
    return (Slot(axes=axes, calls=axes.get("layers", 1)),)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How a benchmark is measured; sealed with it. Times are limits on one side.

    An inconclusive run continues by `look_every` replicates at a time. Warm-up is `warmup_ms` of
    rounds, at least `warmup_rounds`. `aa_rounds` rounds compare the baseline with itself and
    `operator_rounds` measure the operator alone; 0 for none. `held_back_shapes` sizes are drawn for
    the trials of a run.

    A pair of rounds is discarded if a side's SM clock is below its median by more than the share
    `clock_band`, or the hardware throttled; if more than the share `max_discarded` is, the run is
    invalid. A pair is also discarded as interrupted if a round exceeds its side's usual
    time by more than the share `interrupted_band` of the shorter side's, and by more than the
    side's scatter.
    A step faster than the operator's own gain explains, by more than the share `account_margin`,
    makes the run invalid.
    A run is inconclusive if its quietest pairs of rounds differ from the ratio by more than the
    share `noise_band` and are on the other side of the target, if the A/A pair differs by more and
    the target is within that share, or if the A/A interval reaches beyond a factor of 1 +
    `aa_width`. `rules` is the version of the judging rules (`verdict.statistics.rules`).
    A candidate that reaches outside its slot otherwise than `allowed_reach` names, as the record
    words it, is refused.
    `estimator` takes a process's mean round, or its median ratio of adjacent rounds. On a processor
    a side has one thread for each core but `spare_cores`, and at least one.
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
    account_margin: float = 0.05
    aa_width: float = 1.0
    rules: int = 4
    allowed_reach: tuple[str, ...] = ()
    estimator: Literal["means", "adjacent_pairs"] = "means"
    spare_cores: int = 0


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


# Notes of results without a time, as committed surveys have them.
NOT_AVAILABLE = "not available: "
OUT_OF_TIME = "not tried: out of time"


class NotAvailable(RuntimeError):
    """A Solution that cannot run here; the text says what it needs."""
