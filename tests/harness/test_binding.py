"""What a candidate changes outside its slot is found, in its process and in its source."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from benchmarks.harness.runs.candidate_source import patches
from benchmarks.harness.sides import binding, operators
from benchmarks.verdict.controls import reach
from kernels import catalogue
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import EXPLOITS, OPERATORS, softmax_benchmark
from tests.kernels.drawing import candidates_here


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv(operators.SEARCH_PATH_VARIABLE, str(OPERATORS))
    return binding.private_copy(operators.part("projected_lookup", "program"))


_AUTOCAST = torch._C.DispatchKey.AutocastCPU


def _other(*args: Any, **named: Any) -> None: ...


def _defaults(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setattr(program.project, "__defaults__", (2.0,))


def _code(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setattr(program.Step.__call__, "__code__", _other.__code__)


def _method(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setattr(program.Step, "__call__", _other)


def _helper(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setattr(program, "project", _other)


def _torch_function(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setattr(torch, "mm", _other)


def _tensor_method(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setattr(torch.Tensor, "mul_", _other, raising=False)


def _operator(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setattr(torch.Tensor, "__matmul__", _other)


def _builtin(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setattr(operators, "sorted", _other, raising=False)


def _module(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    patch.setitem(sys.modules, program.__name__, SimpleNamespace())


def _trace(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    # Without coverage's own trace function, which another test would miss.
    patch.setattr(sys, "gettrace", lambda: _other)


def _import_hook(patch: pytest.MonkeyPatch, program: ModuleType) -> None:
    finder = type("Finder", (), {"__module__": "solution_candidate"})
    patch.setattr(sys, "meta_path", [finder, *sys.meta_path])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_defaults, "project"),
        (_code, "Step.__call__"),
        (_method, "Step.__call__"),
        (_helper, "project"),
        (_torch_function, "torch.mm"),
        (_tensor_method, "torch.Tensor.mul_"),
        (_operator, "torch.Tensor.__matmul__"),
        (_builtin, "operators.sorted"),
        (_module, "sys.modules"),
        (_trace, "sys.settrace"),
        (_import_hook, "sys.meta_path"),
    ],
)
def test_a_change_outside_the_slot_is_named(
    program: ModuleType,
    change: Callable[[pytest.MonkeyPatch, ModuleType], None],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = binding.Watch([program, operators])
    before = watch.changed()
    with monkeypatch.context() as patch:
        change(patch, program)
        found = set(watch.changed()) - set(before)
    assert any(named in each for each in found), found


@pytest.mark.parametrize(
    ("named", "change", "restore"),
    [
        (
            "torch.is_autocast_enabled",
            lambda: torch.set_autocast_enabled("cpu", True),
            lambda: torch.set_autocast_enabled("cpu", False),
        ),
        (
            "torch.are_deterministic_algorithms_enabled",
            lambda: torch.use_deterministic_algorithms(True),
            lambda: torch.use_deterministic_algorithms(False),
        ),
        (
            "torch.set_flush_denormal",
            lambda: torch.set_flush_denormal(True),
            lambda: torch.set_flush_denormal(False),
        ),
        (
            "torch.backends.mkldnn",
            lambda: torch._C._set_mkldnn_enabled(False),
            lambda: torch._C._set_mkldnn_enabled(True),
        ),
        (
            "torch's dispatch keys",
            lambda: torch._C._dispatch_tls_set_dispatch_key_included(_AUTOCAST, True),
            lambda: torch._C._dispatch_tls_set_dispatch_key_included(_AUTOCAST, False),
        ),
    ],
)
def test_a_setting_for_the_whole_process_is_named(
    program: ModuleType,
    named: str,
    change: Callable[[], object],
    restore: Callable[[], object],
) -> None:
    watch = binding.Watch([program])
    change()
    try:
        assert named in watch.changed()
    finally:
        restore()
    assert named not in watch.changed()


@pytest.fixture
def exchanged() -> Iterator[None]:
    """torch.mm's C definition exchanged for another's, as ctypes can."""
    at = ctypes.c_void_p.from_address(id(torch.mm) + 16)
    was = at.value
    at.value = ctypes.c_void_p.from_address(id(torch.add) + 16).value
    yield
    at.value = was


def test_a_c_function_exchanged_in_memory_is_named(
    program: ModuleType, request: pytest.FixtureRequest
) -> None:
    watch = binding.Watch([program])
    request.getfixturevalue("exchanged")
    assert "torch.mm" in watch.changed()


@pytest.fixture
def wrapped_exchanged() -> Iterator[None]:
    """The C function behind Tensor.__getitem__ exchanged for that behind __len__, as ctypes can."""
    base = vars(torch._C.TensorBase)
    at = ctypes.c_void_p.from_address(id(base["__getitem__"]) + 48)
    was = at.value
    at.value = ctypes.c_void_p.from_address(id(base["__len__"]) + 48).value
    yield
    at.value = was


def test_a_slot_wrapper_exchanged_in_memory_is_named(
    program: ModuleType, request: pytest.FixtureRequest
) -> None:
    watch = binding.Watch([program])
    assert watch.changed() == []
    request.getfixturevalue("wrapped_exchanged")
    assert watch.changed() == ["torch.TensorBase.__getitem__"]


def test_a_function_of_torch_that_the_steps_functions_use_is_watched() -> None:
    watch = binding.Watch([operators.part("shared_prefix_attention", "program")])
    assert watch.changed() == []
    code = F.rms_norm.__code__
    try:
        F.rms_norm.__code__ = _other.__code__
        assert "torch.nn.functional.rms_norm" in watch.changed()
    finally:
        F.rms_norm.__code__ = code


def test_a_modes_effect_on_the_step_is_named(program: ModuleType) -> None:
    watch = binding.Watch([program])
    with torch.overrides.BaseTorchFunctionMode():
        assert "torch function mode" in watch.changed()


def test_a_tensor_or_step_in_disguise_is_named(program: ModuleType) -> None:
    class Lazy(torch.Tensor): ...

    solution = SimpleNamespace(run=_other, prepare=lambda state, axes: None)
    state = {"table": torch.ones(3, 4), "weight": torch.ones(4, 4)}
    step = program.Step(solution=solution, state=state, axes={"tokens": 2, "hidden": 4})
    assert list(binding.foreign_tensors(step, program)) == []
    step._rows.__class__ = Lazy
    assert list(binding.foreign_tensors(step, program)) == ["the class of step._rows"]


def test_a_private_copy_is_not_what_an_import_finds(program: ModuleType) -> None:
    assert operators.part("projected_lookup", "program") is not program
    assert program not in sys.modules.values()


def test_no_candidate_of_the_catalogue_reaches_outside_its_slot() -> None:
    files = [
        file
        for operator in catalogue.operators()
        for file in catalogue.candidates(operator).values()
    ]
    assert len(files) > len(candidates_here()) > 0
    assert {file.name: patches(file.read_text(), file.name) for file in files} == {
        file.name: [] for file in files
    }


@pytest.mark.parametrize(
    ("trick", "named"),
    [
        ("step_replaced", "imports kernels.projected_lookup.program"),
        ("step_found", "uses get_objects"),
        ("torch_patched", "assigns torch.mm"),
        ("frames_searched", "uses _getframe"),
        ("lazy_tensor", "defines __torch_function__"),
        ("patched_clock", "assigns time.monotonic"),
    ],
)
def test_a_source_that_reaches_out_is_seen_without_running_it(trick: str, named: str) -> None:
    assert named in patches((EXPLOITS / f"{trick}.py").read_text(), f"{trick}.py")


@pytest.mark.parametrize(
    ("allowed", "passed"), [([], False), (["assigns torch.mm"], True), (None, None)]
)
def test_the_protocol_may_allow_what_a_source_does(
    allowed: list[str] | None, passed: bool | None
) -> None:
    seen = {"imports": ["einops"], "patches": ["assigns torch.mm"], "changed": []}
    changed: dict[str, Any] = {} if allowed is None else {"allowed_reach": allowed}
    document = softmax_benchmark(**changed)
    rounds = [(200.0, 100.0), (202.0, 100.0), (198.0, 99.0)]
    record = made_record(
        [replicate_entry(workload_entry("wide", rounds))], document=document, seen={"reach": seen}
    )
    judged = {each["name"]: each["passed"] for each in record["controls"]}
    assert judged.get(reach.NAME) is passed
    assert (record["summary"]["verdict"] == "invalid") is (passed is False)


def test_a_file_that_is_not_python_is_left_to_the_side_that_loads_it() -> None:
    assert patches("def run(", "candidate.py") == []
    assert patches(Path(__file__).read_text(), "candidate.cu") == []
