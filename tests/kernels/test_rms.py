"""Part of the work in eight bits is refused by the RMS error; honest 16-bit kernels pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import pytest
import torch
from torch import Tensor

from benchmarks.harness.devices import contents
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.rounds.checks import compare
from kernels import catalogue, llama, solutions, special_values
from kernels.definition import TensorSpec
from kernels.solutions import Solution
from kernels.tolerances import tolerances
from kernels.trials import draw

SHARED, NETWORK = "shared_prefix_attention", "fused_ffn"
_MODEL = {"heads": 8, "kv_heads": 4, "head_dim": 64, "hidden": 512, "ffn": 1536}
AXES = {
    SHARED: llama.sized(_MODEL, layers=4, batch=8, prefix_len=512, own_len=32),
    NETWORK: llama.sized(_MODEL, layers=4, tokens=64),
}
HONEST = {SHARED: ("sdpa", "torch_cascade"), NETWORK: ("three_matmuls", "torch_in_place")}
LEVELS = ("program", "operator")
# Refused by at least this much, and passed by at least that.
WIDE, CLEAR = 2.0, 0.9


def _int8(tensor: Tensor) -> Tensor:
    step = tensor.float().abs().amax(-1, keepdim=True).clamp(min=1e-9) / 127
    return ((tensor.float() / step).round() * step).to(tensor.dtype)


def _fp8(tensor: Tensor) -> Tensor:
    scale = tensor.float().abs().amax(-1, keepdim=True).clamp(min=1e-9) / 448
    eight = (tensor.float() / scale).to(torch.float8_e4m3fn).float()
    return (eight * scale).to(tensor.dtype)


KINDS = {"int8": _int8, "fp8": _fp8}


def _partly(operator: str, kind: str, names: tuple[str, ...], *, every: int = 1) -> Solution:
    """The honest candidate with part of its state in eight bits, in every so many layers."""
    honest = solutions.named(operator, HONEST[operator][1])
    layers = iter(range(1 << 30))

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> object:
        if next(layers) % every:
            return honest.prepare(state, axes)
        narrow = {name: KINDS[kind](each) for name, each in state.items() if name in names}
        return honest.prepare({**state, **narrow}, axes)

    return Solution(name="partly", prepare=prepare, run=honest.run)


@dataclass(frozen=True)
class Drawn:
    """State, inputs and the right answer of one level."""

    operator: str
    level: str
    dtype: torch.dtype
    seed: int

    def error(self, solution: Solution) -> float:
        """The RMS error of the solution's outputs over the RMS of the reference."""
        torch.manual_seed(self.seed)
        what, axes = catalogue.definition(self.operator), AXES[self.operator]
        program = self.level == "program"
        specs = what.program_outputs if program else what.outputs
        state = draw(what.program_state if program else what.state, axes, self.dtype, "cpu")
        inputs = draw(what.program_inputs if program else what.inputs, axes, self.dtype, "cpu")
        out = {spec.name: torch.empty(spec.sizes(axes), dtype=self.dtype) for spec in specs}
        reference = solutions.reference(self.operator)
        if program:
            build = solutions.program(self.operator).Step
            build(solution=solution, state=state, axes=axes)(inputs, out)
            expected = reference.reference_step(state=state, inputs=inputs, axes=axes)
        else:
            solution.run(solution.prepare(state, axes), inputs, out)
            expected = reference.reference(state, inputs, axes)
        return max(_error(spec, out, expected) for spec in specs)

    def allowed(self) -> float:
        """The highest RMS error that the sealed factor allows."""
        what, name = catalogue.definition(self.operator), str(self.dtype).removeprefix("torch.")
        found = what.tolerances if self.level == "program" else what.operator_tolerances
        factor = found[name].rms_factor
        assert factor is not None
        return factor * self.error(solutions.named(self.operator, HONEST[self.operator][0]))


_ANYTHING = {"max_abs": 1.0, "max_rel": 1.0, "matched_share": 0.0, "hard_cap_abs": 1e9}


def _error(spec: TensorSpec, out: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> float:
    errors, sizes = compare(spec.name, out[spec.name], expected[spec.name], _ANYTHING).squares
    return float((errors / sizes) ** 0.5)


PARTLY = [
    pytest.param(SHARED, ("prefix_v",), 1, id="V alone"),
    pytest.param(SHARED, ("prefix_k", "prefix_v", "own_k", "own_v"), 2, id="half of the layers"),
    pytest.param(NETWORK, ("w_gate_up",), 1, id="gate and up alone"),
    pytest.param(NETWORK, ("w_gate_up", "w_down"), 2, id="half of the networks"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(torch.float16, id="fp16"),
        pytest.param(torch.float32, id="fp32", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize(("operator", "names", "every"), PARTLY)
def test_part_of_the_work_in_eight_bits_is_refused_widely(
    operator: str, names: tuple[str, ...], every: int, dtype: torch.dtype, kind: str
) -> None:
    for level in LEVELS:
        drawn = Drawn(operator, level, dtype, seed=7)
        wrong = drawn.error(_partly(operator, kind, names, every=every))
        assert wrong > WIDE * drawn.allowed(), (level, wrong / drawn.allowed())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("operator", "names", "every"), PARTLY)
def test_in_bfloat16_the_operator_alone_shows_it(
    operator: str, names: tuple[str, ...], every: int, kind: str
) -> None:
    drawn = Drawn(operator, "operator", torch.bfloat16, seed=7)
    assert drawn.error(_partly(operator, kind, names)) > drawn.allowed()


def _honest(seeds: range) -> Iterator[tuple[str, float]]:
    for operator, (_, candidate) in HONEST.items():
        for dtype in (torch.float16, torch.bfloat16):
            for level in LEVELS:
                for seed in seeds:
                    drawn = Drawn(operator, level, dtype, seed)
                    share = drawn.error(solutions.named(operator, candidate)) / drawn.allowed()
                    yield f"{operator} {dtype} {level} {seed}", share


def test_honest_sixteen_bit_kernels_pass() -> None:
    assert {name: share for name, share in _honest(range(1)) if share > CLEAR} == {}


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_honest_sixteen_bit_kernels_pass_a_hundred_times() -> None:
    assert {name: share for name, share in _honest(range(100)) if share > CLEAR} == {}


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_an_eight_bit_operator_has_bounds_of_its_own(dtype: str) -> None:
    torch.manual_seed(1)
    bounds = asdict(tolerances(terms=64, roundings=1, dtypes=(dtype,))[dtype])
    expected = torch.randn(1 << 16)
    right = expected.to(getattr(torch, dtype)).float()
    assert compare("y", right, expected, bounds).failure is None
    # Truncated to a mantissa bit less.
    shorter = (right / 2.0 ** (right.abs().log2().floor() - 1)).trunc()
    cut = shorter * 2.0 ** (right.abs().log2().floor() - 1)
    assert dtype == "float8_e5m2" or compare("y", cut, expected, bounds).failure is not None


@pytest.mark.parametrize(("dtype", "infinite"), [("float8_e4m3fn", False), ("float8_e5m2", True)])
def test_eight_bit_inputs_are_tried_at_the_ends_of_their_range(dtype: str, infinite: bool) -> None:
    kind = getattr(torch, dtype)
    spec = TensorSpec(name="x", shape=(4096,), dtype=dtype)
    layout = Layout.plan([asdict(spec)], {}, "float32", 2)
    for trial in special_values.of_eight_bits(dtype, "x"):
        memory = torch.zeros(layout.nbytes, dtype=torch.uint8)
        source = contents.generator(memory.device)
        contents.refill(memory, layout, source)
        contents.plant(memory, layout, trial.contents, source)
        x = layout.tensors(memory, 0)["x"].float()
        finite = x[x.isfinite()].abs()
        if trial.name == "the largest numbers":
            assert finite.max() == torch.finfo(kind).max
        elif trial.name == "subnormal numbers":
            assert 0 < finite[finite > 0].min() < torch.finfo(kind).smallest_normal
        elif trial.name == "zeros":
            assert finite.max() == 0
        else:
            assert int((~x.isfinite()).sum()) == 1
    names = [trial.name for trial in special_values.of_eight_bits(dtype, "x")]
    assert ("an Inf" in names) is infinite
