"""Bind a side's step before its candidate is imported, and find what changed since.

The candidate shares the process and can change anything in it, this module too. So this finds what
does not hide; the account of the operator alone and the chained calls bound the gain of what does.
"""

import builtins
import ctypes
import importlib.util
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import torch

# Calls among torch's own Python functions that are followed from the step's.
_DEPTH = 2
_MISSING = object()
# Offsets of CPython's structs in bytes: the pointer to the method's definition, and its length.
_DEFINITION_AT: Mapping[type, int] = {BuiltinFunctionType: 16, MethodDescriptorType: 40}
_DEFINITION_BYTES, _POINTER_BYTES = 24, 8
# A slot wrapper's pointers to the slot's description and to the C function in it.
_WRAPPED_AT, _WRAPPED_BYTES = 40, 16
_MONITORING_TOOLS = range(6)
_DENORMAL = 1e-40
# Kernels that other operators of torch end in.
_PARTS = {"addmm", "baddbmm", "bmm", "copy", "mm", "mv", "scaled_mm"}


def private_copy(module: ModuleType) -> ModuleType:
    """The module run again from its file, under a name that no import finds."""
    assert module.__file__ is not None
    name = f"_bound_{Path(module.__file__).stem}"
    spec = importlib.util.spec_from_file_location(name, module.__file__)
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while it runs.
    sys.modules[name] = copy
    try:
        spec.loader.exec_module(copy)
    finally:
        del sys.modules[name]
    return copy


class Watch:
    """The names that a step uses outside its slot, with their present values."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        """`modules`: the Program, and everything of the side that runs a step."""
        self._modules = list(modules)
        self._held: dict[tuple[int, str], tuple[Any, str, object, object]] = {}
        used: set[str] = set()
        for module in self._modules:
            names: set[str] = set()
            for name, value in list(vars(module).items()):
                if not name.startswith("__"):
                    names |= self._hold(module, name, value, module.__name__)
            # A global of a builtin's name would be found first.
            for name in names & set(vars(builtins)):
                self._hold(module, name, vars(module).get(name, _MISSING), module.__name__)
            used |= names
        self._follow(used)
        self._kernels = {name: _kernels(name) for name in _operators_named(used)}
        self._overrides = _overrides()
        self._settings = _settings()

    def _hold(self, holder: Any, name: str, value: object, label: str) -> set[str]:
        """Remember one name; returns the names that its code uses."""
        key = (id(holder), name)
        if key in self._held:
            return set()
        self._held[key] = (holder, f"{label}.{name}", value, _state(value))
        used = set(_names(value))
        if isinstance(value, type) and value.__module__ == label:
            for each, member in list(vars(value).items()):
                if callable(_plain(member)) or each in ("__class__", "__getattribute__"):
                    used |= self._hold(value, each, member, f"{label}.{name}")
        return used

    def _follow(self, used: set[str]) -> None:
        """Hold the torch functions of these names, and those that torch's Python ones use."""
        holders = (
            (torch, "torch"),
            (torch.nn.functional, "torch.nn.functional"),
            (torch.Tensor, "torch.Tensor"),
            (torch._C.TensorBase, "torch.TensorBase"),
            (torch._C._nn, "torch._C._nn"),
            (type(torch._C._VariableFunctions), "torch._C._VariableFunctions"),
            (torch.cuda, "torch.cuda"),
            (builtins, "builtins"),
            (math, "math"),
        )
        operators = {name for name in dir(torch.Tensor) if name.startswith("__")}
        used = used | operators | {"__import__"}
        for _ in range(_DEPTH + 1):
            found: set[str] = set()
            for holder, label in holders:
                for name in used:
                    value = vars(holder).get(name, _MISSING)
                    # A name of Tensor's base class would be found first in Tensor itself.
                    if value is not _MISSING or holder is torch.Tensor:
                        found |= self._hold(holder, name, value, label)
            used = found

    def changed(self) -> list[str]:
        """What means something else now, by its name."""
        found = [
            label
            for holder, label, value, state in self._held.values()
            if vars(holder).get(label.rpartition(".")[2], _MISSING) is not value
            or _state(value) != state
        ]
        for module in self._modules:
            known = sys.modules.get(module.__name__, module)
            if known is not module:
                found.append(f"sys.modules[{module.__name__!r}]")
        found += [f"torch.library of {name}" for name in sorted(_overrides() - self._overrides)]
        found += [
            f"kernels of {name}" for name, known in self._kernels.items() if _kernels(name) != known
        ]
        found += [name for name, value in _settings().items() if value != self._settings[name]]
        return found + list(_hooks())


def _plain(member: object) -> object:
    return getattr(member, "__func__", member)


def _names(value: object) -> Iterator[str]:
    """The names in a function's code, those of its inner functions included."""
    function = _plain(value)
    codes = [function.__code__] if isinstance(function, FunctionType) else []
    while codes:
        code = codes.pop()
        yield from code.co_names
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]


def _state(value: object) -> object:
    """The code, defaults and closure of a function, for comparison."""
    value = _plain(value)
    if isinstance(value, FunctionType):
        code, cells = value.__code__, value.__closure__ or ()
        return (
            id(code),
            code.co_code,
            tuple(map(id, code.co_consts)),
            tuple(map(id, value.__defaults__ or ())),
            tuple((name, id(each)) for name, each in (value.__kwdefaults__ or {}).items()),
            id(value.__globals__),
            tuple(id(_content(cell)) for cell in cells),
        )
    if isinstance(value, type):
        return tuple(map(id, (type(value), *value.__mro__)))
    if isinstance(value, BuiltinFunctionType | MethodDescriptorType):
        at = id(value) + _DEFINITION_AT[type(value)]
        pointer = ctypes.string_at(at, _POINTER_BYTES)
        definition = ctypes.string_at(int.from_bytes(pointer, sys.byteorder), _DEFINITION_BYTES)
        return pointer, definition
    if isinstance(value, WrapperDescriptorType):
        return ctypes.string_at(id(value) + _WRAPPED_AT, _WRAPPED_BYTES)
    return None


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _overrides() -> set[str]:
    """Operators of torch that Python code implements, but for shapes alone."""
    return {key for key in torch.library._impls if key.startswith("aten/") and "/Meta" not in key}


def _operators_named(names: Iterable[str]) -> list[str]:
    """The dispatcher's operators of these names, and those that others of torch end in."""
    plain = {name.strip("_") for name in names} | _PARTS
    known: list[str] = torch._C._dispatch_get_all_op_names()
    return [
        name
        for name in known
        if name.startswith("aten::")
        and name.removeprefix("aten::").partition(".")[0].strip("_") in plain
    ]


def _kernels(operator: str) -> str:
    """Where the dispatcher finds an operator's kernels: by Python, or by C++ that was loaded."""
    table: str = torch._C._dispatch_dump_table(operator)
    return table


def _settings() -> dict[str, object]:
    """What changes the results or the speed of torch's functions everywhere in the process."""
    matmul, attention = torch.backends.cuda.matmul, torch.backends.cuda
    on_processor: Any = torch.backends.mkldnn
    asked: dict[str, Callable[[], object]] = {
        "torch.get_float32_matmul_precision": torch.get_float32_matmul_precision,
        "torch.get_num_threads": torch.get_num_threads,
        "torch.get_default_dtype": torch.get_default_dtype,
        "torch.is_autocast_enabled": lambda: [
            torch.is_autocast_enabled(device) for device in ("cpu", "cuda")
        ],
        "torch.are_deterministic_algorithms_enabled": torch.are_deterministic_algorithms_enabled,
        "torch.is_inference_mode_enabled": torch.is_inference_mode_enabled,
        "torch.set_flush_denormal": lambda: bool(torch.tensor(_DENORMAL).abs() > 0),
        "torch's dispatch keys": lambda: (
            torch._C._dispatch_tls_local_include_set().raw_repr(),
            torch._C._dispatch_tls_local_exclude_set().raw_repr(),
        ),
        "torch.backends.mkldnn": lambda: (
            torch._C._get_mkldnn_enabled(),
            on_processor.matmul.fp32_precision,
        ),
        "fp16 reductions": lambda: matmul.allow_fp16_reduced_precision_reduction,
        "bf16 reductions": lambda: matmul.allow_bf16_reduced_precision_reduction,
        "fp16 accumulation": lambda: matmul.allow_fp16_accumulation,
        "attention backends": lambda: (
            attention.flash_sdp_enabled(),
            attention.mem_efficient_sdp_enabled(),
            attention.math_sdp_enabled(),
            attention.cudnn_sdp_enabled(),
        ),
        "torch.backends.cudnn": lambda: (
            torch.backends.cudnn.enabled,
            torch.backends.cudnn.benchmark,
        ),
    }
    return {name: _answer(ask) for name, ask in asked.items()}


def _answer(ask: Callable[[], object]) -> object:
    """A setting, or the error of torch where settings of it contradict each other."""
    try:
        return ask()
    except (AttributeError, RuntimeError) as error:
        return type(error)


def _hooks() -> Iterator[str]:
    """Hooks that see every call of the interpreter or of torch."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        yield "sys.settrace"
    monitoring = getattr(sys, "monitoring", None)
    if monitoring and any(monitoring.get_tool(tool) is not None for tool in _MONITORING_TOOLS):
        yield "sys.monitoring"
    for finder in sys.meta_path:
        kind = finder if isinstance(finder, type) else type(finder)
        if kind.__module__.startswith("solution_"):
            yield "sys.meta_path"
    if torch._C._len_torch_function_stack():
        yield "torch function mode"
    if torch._C._len_torch_dispatch_stack():
        yield "torch dispatch mode"
    frames = sys.modules.get("torch._C._dynamo.eval_frame")
    if frames is not None and frames.get_eval_frame_callback() not in (None, False):
        yield "torch's frame evaluation"


def foreign_tensors(value: object, module: ModuleType, path: str = "step") -> Iterator[str]:
    """Where a step or its calls hold a tensor of another class than torch's, or an alien object.

    Walks containers and objects of the classes of `module`, the bound Program.
    """
    if isinstance(value, torch.Tensor):
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            yield f"the class of {path}"
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from foreign_tensors(each, module, f"{path}[{name!r}]")
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from foreign_tensors(each, module, f"{path}[{index}]")
    elif type(value).__module__ == module.__name__:
        for name, each in vars(value).items():
            if name in vars(type(value)) and callable(vars(type(value))[name]):
                yield f"{path}.{name}"
            # The slot's own.
            if "prepared" not in name:
                yield from foreign_tensors(each, module, f"{path}.{name}")
