"""Read a Definition of FlashInfer-Bench, and refuse what no benchmark folder can say."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.records import schemas
from benchmarks.records.flashinfer_bench.errors import ImportRefused
from kernels.definition import ITEM_BYTES, STORED_BYTES

MAX_BYTES = 1_000_000
_TENSOR = {
    "type": "object",
    "required": ["shape", "dtype"],
    "properties": {
        "shape": {"type": ["array", "null"], "items": schemas.TEXT},
        "dtype": schemas.TEXT,
    },
}
_TENSORS = {**schemas.by_name(_TENSOR), "minProperties": 1}
_SCHEMA = {
    "type": "object",
    "required": ["name", "op_type", "axes", "inputs", "outputs", "reference"],
    "properties": {
        "name": schemas.TEXT,
        "op_type": schemas.TEXT,
        "axes": schemas.by_name(
            {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": {"enum": ["const", "var"]},
                    "value": schemas.POSITIVE_COUNT,
                },
                "if": {"properties": {"type": {"const": "const"}}},
                "then": {"required": ["value"]},
            }
        ),
        "inputs": _TENSORS,
        "outputs": _TENSORS,
        "reference": schemas.TEXT,
        "description": {"type": ["string", "null"]},
        "constraints": {"type": ["array", "null"], "items": schemas.TEXT},
    },
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What draws at random: a reference must answer equally for equal inputs.
_RANDOM_CALLS = frozenset(
    {"multinomial", "bernoulli", "bernoulli_", "rand", "randn", "randint", "randperm", "normal_",
     "uniform_", "exponential_", "rand_like", "randn_like", "dropout"}
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """An input or output; `shape` is None for a scalar."""

    name: str
    shape: tuple[str, ...] | None
    dtype: str

    @property
    def is_integer(self) -> bool:
        """Whether it holds whole numbers, such as indices."""
        return self.dtype.startswith("int")


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A Definition that can be converted."""

    name: str
    op_type: str
    description: str
    constants: Mapping[str, int]
    variables: tuple[str, ...]
    about_axes: Mapping[str, str]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    constraints: tuple[str, ...]
    reference: str
    by_name: bool

    @property
    def operator(self) -> str:
        """The name as operators are named."""
        plain = re.sub(r"[^a-z0-9_]+", "_", self.name.lower()).strip("_")
        return plain if plain[:1].isalpha() else f"op_{plain}"

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The inputs that are no scalars."""
        return tuple(each for each in self.inputs if each.shape is not None)

    @property
    def scalars(self) -> tuple[Tensor, ...]:
        """The inputs that are scalars."""
        return tuple(each for each in self.inputs if each.shape is None)

    @property
    def dtype(self) -> str:
        """The dtype of the first output of floats, otherwise of the first such input."""
        found = (each.dtype for each in (*self.outputs, *self.tensors) if each.dtype in ITEM_BYTES)
        return next(found, "float32")


def read(content: bytes, name: str) -> Definition:
    """The Definition of a file. Raises ImportRefused."""
    if len(content) > MAX_BYTES:
        raise ImportRefused(
            f"{name} is larger than {MAX_BYTES:,} bytes: give one Definition", code="unreadable"
        )
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ImportRefused(
            f"{name} is not JSON ({error}): give one Definition of FlashInfer-Bench, a .json file",
            code="unreadable",
        ) from error
    if broken := schemas.violation(data, _SCHEMA):
        raise ImportRefused(f"{name} is not a Definition: {broken}", code="field")
    _require_names(data, name)
    _require_dtypes(data)
    parameters = _require_reference(data)
    inputs = _tensors(data["inputs"])
    variables = tuple(axis for axis, each in data["axes"].items() if each["type"] == "var")
    return Definition(
        name=data["name"],
        op_type=data["op_type"],
        description=data.get("description") or data["name"],
        constants={
            axis: each["value"] for axis, each in data["axes"].items() if each["type"] == "const"
        },
        variables=variables,
        about_axes={axis: each.get("description") or axis for axis, each in data["axes"].items()},
        inputs=inputs,
        outputs=_tensors(data["outputs"]),
        constraints=tuple(data.get("constraints") or ()),
        reference=data["reference"],
        by_name=set(parameters) == {each.name for each in inputs},
    )


def _tensors(data: Mapping[str, Any]) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(
            name=name,
            shape=None if each["shape"] is None else tuple(each["shape"]),
            dtype=each["dtype"],
        )
        for name, each in data.items()
    )


def _require_names(data: Mapping[str, Any], file: str) -> None:
    """Names become Python and TOML; shapes name axes, and outputs are tensors."""
    for part in ("axes", "inputs", "outputs"):
        for name in data[part]:
            if not _NAME.fullmatch(name):
                raise ImportRefused(
                    f"{file}: {part} has {name[:80]!r}: name it with letters, digits and "
                    "underscores",
                    code="field",
                )
    for part in ("inputs", "outputs"):
        for name, each in data[part].items():
            if unknown := sorted(set(each["shape"] or ()) - set(data["axes"])):
                raise ImportRefused(
                    f"{file}: {name} has the axis {', '.join(unknown)}: add it to axes",
                    code="field",
                )
            if not each["shape"] and (part == "outputs" or each["shape"] is not None):
                raise ImportRefused(
                    f"{file}: {name} is a single number: give it a shape of at least one axis",
                    code="field",
                )


def _require_dtypes(data: Mapping[str, Any]) -> None:
    for part in ("inputs", "outputs"):
        for name, each in data[part].items():
            if each["dtype"] not in STORED_BYTES:
                raise ImportRefused(
                    f"{name} is {each['dtype']}, which the referee does not draw: use one of "
                    f"{', '.join(STORED_BYTES)}, such as packed bytes in uint8 with the "
                    "reference’s own unpacking",
                    code="dtype",
                )


def _require_reference(data: Mapping[str, Any]) -> list[str]:
    """The parameters of the reference's `run`."""
    try:
        module = ast.parse(data["reference"])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ImportRefused(
            f"the reference is not Python ({error}): correct it", code="reference"
        ) from error
    runs = [
        node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "run"
    ]
    if not runs:
        raise ImportRefused("the reference does not define run: add it", code="reference")
    drawn = {
        node.func.attr
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    } & _RANDOM_CALLS
    if data["op_type"] == "sampling" or drawn:
        raise ImportRefused(
            f"{data['name']} draws at random ({', '.join(sorted(drawn)) or 'sampling'}), and the "
            "referee compares each result with the reference’s: pass the random numbers as an "
            "input, as the catalogue’s token_sampling does, and write that benchmark with "
            "twofold init",
            code="sampling",
        )
    given = runs[-1].args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
