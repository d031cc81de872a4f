"""The templates that a candidate begins as: right at every size, and measured by the referee."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kernels import catalogue, cuda, solutions
from kernels.definition import NotAvailable, SpecialValues
from kernels.launchers import launcher_of, without_launcher
from kernels.trials import compare
from tests.kernels.drawing import planted, sizes_of, wider
from tests.kernels.shapes import SHARED, SIZES, draw, poisoned, reference_of

TEMPLATES = Path(solutions.__file__).parent / "template"
TALL = "more rows than a tile"
CU = TEMPLATES / "cuda_template.cu"


@pytest.mark.parametrize(
    "size",
    [*(size for size in SIZES[SHARED] if size != TALL), pytest.param(TALL, marks=pytest.mark.soak)],
)
@pytest.mark.parametrize("name", ["torch_template.py", "triton_template.py"])
def test_a_template_is_right_at_every_size(name: str, size: str) -> None:
    torch.manual_seed(3)
    what, axes = catalogue.definition(SHARED), SIZES[SHARED][size]
    state, inputs = draw(what.state, axes, torch.float32), draw(what.inputs, axes, torch.float32)
    out = poisoned(what.outputs, axes, torch.float32)
    solution = solutions.candidate(TEMPLATES / name)

    solution.run(solution.prepare(state, axes), inputs, out)

    expected = reference_of(SHARED, state, inputs, axes)
    right, words = compare(out["out"], expected["out"], what.tolerances["float32"])
    assert right, words


@pytest.mark.parametrize(
    "special", catalogue.definition(SHARED).held_back.special, ids=lambda special: special.name
)
@pytest.mark.parametrize("name", ["torch_template.py", "triton_template.py"])
def test_a_template_is_right_for_special_values_over_few_keys(
    name: str, special: SpecialValues
) -> None:
    torch.manual_seed(3)
    what, axes = catalogue.definition(SHARED), sizes_of(SHARED)["few"]
    state = planted(draw(what.state, axes, torch.float32), special)
    inputs = planted(draw(what.inputs, axes, torch.float32), special)
    out = poisoned(what.outputs, axes, torch.float32)
    solution = solutions.candidate(TEMPLATES / name)

    solution.run(solution.prepare(state, axes), inputs, out)

    expected = reference_of(SHARED, state, inputs, axes)["out"]
    allowed = wider(what.tolerances["float32"], special.gain)
    right, words = compare(out["out"], expected, allowed)
    assert right, words


def test_a_cu_files_launcher_and_cuda_source_keep_their_line_numbers() -> None:
    source = CU.read_text()
    launcher, kernel = launcher_of(source), without_launcher(source)
    assert launcher is not None
    line = next(i for i, text in enumerate(source.splitlines()) if text.startswith("def run"))
    assert launcher.splitlines()[line].startswith("def run")
    line = next(i for i, text in enumerate(source.splitlines()) if "__global__" in text)
    assert "__global__" in kernel.splitlines()[line]
    assert "def run" not in kernel
    solution = solutions.candidate(CU)
    assert (solution.name, callable(solution.run)) == ("cuda_template", True)


def test_a_cu_file_needs_a_launcher_that_is_python(tmp_path: Path) -> None:
    bare = tmp_path / "cuda_bare.cu"
    bare.write_text('extern "C" __global__ void nothing() {}\n')
    with pytest.raises(solutions.SolutionError) as raised:
        solutions.candidate(bare)
    assert raised.value.code == "solution.launcher"
    broken = tmp_path / "cuda_broken.cu"
    broken.write_text("/* python\ndef prepare(state, axes):\n    return {\n*/\n")
    with pytest.raises(solutions.SolutionError, match=r"cuda_broken.cu line 3") as raised:
        solutions.candidate(broken)
    assert raised.value.code == "solution.syntax"


def test_a_cuda_candidate_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(NotAvailable):
        cuda.compile("", "nothing")


def test_kernels_take_tensors_numbers_and_ctypes_values() -> None:
    assert cuda._argument(torch.zeros(1)).value > 0
    assert cuda._argument(7).value == 7
    assert cuda._argument(0.5).value == 0.5
    with pytest.raises(ValueError, match="c_int64"):
        cuda._argument(1 << 40)
    with pytest.raises(TypeError):
        cuda._argument("seven")


def test_a_compile_error_has_the_first_error_and_the_log() -> None:
    log = "6: NVRTC_ERROR_COMPILATION, compilation log:\n\ncandidate.cu(7): error: no such thing\n"
    error = cuda._compile_error(log)
    assert str(error).endswith("candidate.cu(7): error: no such thing")
    assert (error.code, error.log) == ("compile.source", log)
