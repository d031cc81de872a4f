"""Every candidate is a torch custom operator: compiled without a break, prepared once."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels import catalogue, registration, solutions
from kernels.definition import Definition, TensorSpec
from kernels.registration import _Registered
from kernels.solutions import Solution
from tests.kernels.drawing import arguments_of, candidates_here, sizes_of


@pytest.fixture(autouse=True)
def _compiled_from_nothing() -> Iterator[None]:
    torch.manual_seed(3)
    torch.compiler.reset()
    yield
    torch.compiler.reset()


# The code that registers a candidate follows from its operator's Definition.
ONE_EACH = set(dict(candidates_here()).items())


@pytest.mark.parametrize(
    ("operator", "name"),
    [
        pytest.param(*each, marks=[] if each in ONE_EACH else pytest.mark.soak)
        for each in candidates_here()
    ],
)
def test_a_candidate_is_one_operator_of_a_compiled_graph(operator: str, name: str) -> None:
    what, axes = catalogue.definition(operator), sizes_of(operator)["everything free is one"]
    arguments = arguments_of(what, axes)
    call = registration.register(operator, name)

    # fullgraph: anything that torch cannot see through would raise.
    compiled = torch.compile(lambda *given: call(*given), fullgraph=True, backend="aot_eager")

    for got, wanted in zip(_all(compiled(*arguments)), _all(call(*arguments)), strict=True):
        torch.testing.assert_close(got, wanted, equal_nan=True)


@pytest.mark.parametrize(("operator", "name"), candidates_here())
def test_schema_and_fake_agree_with_the_kernel(operator: str, name: str) -> None:
    what, axes = catalogue.definition(operator), sizes_of(operator)["everything free is one"]
    registered: Any = registration.register(operator, name)
    # The schema's check multiplies its arguments, which torch cannot do in FP8 on a processor.
    in_fp8 = any(spec.dtype.startswith("float8") for spec in what.state + what.inputs)
    checks = ("test_faketensor",) if in_fp8 else ("test_schema", "test_faketensor")
    torch.library.opcheck(registered, arguments_of(what, axes), test_utils=checks)


def _all(result: Any) -> tuple[Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


SCALED = Definition(
    operator="scaled_rows",
    title="",
    summary="",
    axes={"rows": "", "width": "", "power": "", "layers": ""},
    state=(TensorSpec(name="weight", shape=("width",)),),
    inputs=(TensorSpec(name="x", shape=("rows", "width")),),
    outputs=(TensorSpec(name="y", shape=("rows", "width")),),
    program="step",
    program_state=(TensorSpec(name="weight", shape=("layers", "width")),),
    program_inputs=(TensorSpec(name="x", shape=("rows", "width")),),
    program_outputs=(TensorSpec(name="y", shape=("rows", "width")),),
    tolerances={},
)


class Scaled:
    """y = x * weight ** power, counting how often the weight was prepared."""

    def __init__(self) -> None:
        self.prepared = 0
        self.operator = _Registered(
            SCALED,
            Solution(
                name="torch_made_up", prepare=self.prepare, run=self.run, gradients=self.gradients
            ),
        ).define()

    def prepare(self, state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
        self.prepared += 1
        self.last = state["weight"] ** axes["power"]
        return self.last

    def run(
        self, prepared: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
    ) -> None:
        torch.mul(inputs["x"], prepared, out=out["y"])

    def gradients(
        self,
        state: Mapping[str, Tensor],
        inputs: Mapping[str, Tensor],
        out: Mapping[str, Tensor],
        grads: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> dict[str, Tensor]:
        weight, power = state["weight"], axes["power"]
        raised = (grads["y"] * inputs["x"]).sum(0)
        return {
            "x": grads["y"] * weight**power,
            "weight": raised * power * weight ** (power - 1),
        }


def test_axes_in_no_tensor_are_numbers_of_the_call() -> None:
    assert registration.scalars(SCALED) == ("power",)
    y = Scaled().operator(torch.tensor([2.0, 3.0]), torch.ones(4, 2), 2)
    assert torch.equal(y, torch.tensor([[4.0, 9.0]]).expand(4, 2))
    assert hasattr(torch.ops.twofold, "scaled_rows_torch_made_up")


def test_a_state_is_prepared_once_while_unchanged() -> None:
    scaled, weight, x = Scaled(), torch.tensor([2.0, 3.0]), torch.ones(4, 2)
    scaled.operator(weight, x, 2)
    scaled.operator(weight, torch.ones(4, 2), 2)
    assert scaled.prepared == 1
    weight.mul_(2.0)
    assert torch.equal(scaled.operator(weight, x, 2)[0], torch.tensor([16.0, 36.0]))
    assert scaled.prepared == 2
    scaled.operator(weight, torch.ones(7, 2), 2)
    assert scaled.prepared == 3, "another size has scratch of its own"


def test_a_weight_with_new_memory_is_prepared_again() -> None:
    scaled, weight, x = Scaled(), torch.nn.Parameter(torch.tensor([2.0, 3.0])), torch.ones(1, 2)
    scaled.operator(weight, x, 1)
    # How checkpoints are loaded: torch counts no write.
    weight.data = torch.tensor([5.0, 7.0])
    assert torch.equal(scaled.operator(weight, x, 1)[0], torch.tensor([5.0, 7.0]))


def test_prepared_state_is_freed_with_its_tensor() -> None:
    scaled, weight, x = Scaled(), torch.tensor([2.0, 3.0]), torch.ones(1, 2)
    scaled.operator(weight, x, 1)
    packed = weakref.ref(scaled.last)
    del scaled.last
    gc.collect()
    assert packed() is not None
    del weight
    gc.collect()
    assert packed() is None


def test_a_new_tensor_at_an_old_address_is_prepared_again() -> None:
    scaled, x = Scaled(), torch.ones(1, 2)
    for value in range(2, 40):
        weight = torch.full((2,), float(value))
        assert scaled.operator(weight, x, 1)[0, 0].item() == value
        del weight


def test_gradients_flow_through_a_compiled_operator() -> None:
    scaled = Scaled()
    weight = torch.tensor([2.0, 3.0], requires_grad=True)
    x = torch.randn(4, 2, requires_grad=True)
    compiled = torch.compile(
        lambda weight, x: scaled.operator(weight, x, 3).square().sum(),
        fullgraph=True,
        backend="aot_eager",
    )
    compiled(weight, x).backward()
    got = weight.grad, x.grad
    expected = torch.autograd.grad((x * weight**3).square().sum(), (weight, x))
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_one_compiled_graph_serves_every_size() -> None:
    scaled, weight, graphs = Scaled(), torch.tensor([2.0, 3.0]), []

    def counted(graph: Any, example: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(
        lambda x: scaled.operator(weight, x, 2), fullgraph=True, dynamic=True, backend=counted
    )
    for rows in (5, 6, 9):
        assert compiled(torch.ones(rows, 2)).shape == (rows, 2)
    assert len(graphs) == 1


def test_tensors_with_different_sizes_of_one_axis_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"^x .*\[rows, width\]"):
        Scaled().operator(torch.ones(3), torch.ones(4, 2), 1)
    with pytest.raises(ValueError, match=r"^weight .*\[width\]"):
        Scaled().operator(torch.ones(2, 2), torch.ones(4, 2), 1)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(catalogue.CatalogueError, match="shared_prefix_attention"):
        registration.register("nothing", "triton_nothing")
    with pytest.raises(solutions.SolutionError, match="torch_cascade"):
        registration.register("shared_prefix_attention", "triton_nothing")


def test_a_file_with_gradients_has_a_backward_pass(tmp_path: Path) -> None:
    file = tmp_path / "torch_made_up.py"
    file.write_text(
        "def run(prepared, inputs, out):\n    pass\n"
        "def gradients(state, inputs, out, grads, axes):\n    return {}\n"
    )
    made = solutions.candidate(file)
    assert made.gradients is not None
    assert made.gradients({}, {}, {}, {}, {}) == {}
