"""The sizes and scalars of a Definition: from its Workloads, or from options."""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.records import schemas, traffic_workloads
from benchmarks.records.flashinfer_bench.definitions import Definition
from benchmarks.records.flashinfer_bench.errors import ImportRefused
from benchmarks.records.traffic_workloads import Drafted, Logged, ShapeLog

_MAX_BYTES = 64 * 2**20
_SCHEMA = {
    "type": "object",
    "required": ["definition", "workload"],
    "properties": {
        "definition": schemas.TEXT,
        "workload": {
            "type": "object",
            "required": ["axes", "inputs"],
            "properties": {
                "axes": schemas.by_name(schemas.COUNT),
                "inputs": schemas.by_name({"type": "object", "required": ["type"]}),
            },
        },
    },
}
_OPERATIONS: Mapping[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_LARGEST = 2**62


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Workloads with every axis, the scalars, and what the workloads were drafted from.

    `left_out` names the lines of the source that are no workload to measure, and why.
    """

    drafted: Drafted
    source: str
    scalars: Mapping[str, float]
    left_out: Sequence[str] = ()


def from_lines(
    content: bytes, name: str, definition: Definition, scalars: Mapping[str, float]
) -> Sizes:
    """The most frequent shapes of a file of Workloads, each line counted as a call."""
    found = _read(content, name, definition)
    shapes, left_out = [], []
    for number, each in found.items():
        axes = {**definition.constants, **each["axes"]}
        if empty := [axis for axis, size in axes.items() if size == 0]:
            left_out.append(f"line {number}: {', '.join(empty)} is 0, so it computes nothing")
            continue
        _require_axes(definition, axes, f"{name}, line {number},")
        shapes.append(Logged(axes=_varying(definition, axes)))
    if not shapes:
        raise ImportRefused(f"{name} has only empty workloads: give others", code="workloads")
    drafted = traffic_workloads.draft(ShapeLog(shapes=shapes), fixed=_fixed(definition))
    return Sizes(
        drafted=drafted,
        source=name,
        left_out=left_out,
        scalars=_scalars(definition, scalars, _given(found, name, scalars)),
    )


def from_options(
    points: Sequence[Mapping[str, int]], definition: Definition, scalars: Mapping[str, float]
) -> Sizes:
    """Workloads of equal weight at the given sizes."""
    shapes = []
    for point in points or [{}]:
        if unknown := sorted(set(point) - set(definition.variables)):
            raise ImportRefused(
                f"--axes names {', '.join(unknown)}; the axes that vary are "
                f"{', '.join(definition.variables) or 'none'}",
                code="axes",
            )
        axes = {**definition.constants, **point}
        _require_axes(definition, axes, "--axes")
        shapes.append(Logged(axes=_varying(definition, axes)))
    drafted = traffic_workloads.draft(
        ShapeLog(shapes=shapes), fixed=_fixed(definition), coverage=1.0, most=len(shapes)
    )
    return Sizes(drafted=drafted, source="", scalars=_scalars(definition, scalars, {}))


def _varying(definition: Definition, axes: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes by which workloads differ; all where none varies."""
    return {axis: axes[axis] for axis in definition.variables} or axes


def _fixed(definition: Definition) -> dict[str, int]:
    return {**dict.fromkeys(definition.variables, 1), **definition.constants}


def _read(content: bytes, name: str, definition: Definition) -> dict[int, Mapping[str, Any]]:
    """The workloads of this Definition by line."""
    if len(content) > _MAX_BYTES:
        raise ImportRefused(
            f"{name} is larger than {_MAX_BYTES // 2**20} MiB: give fewer workloads",
            code="workloads",
        )
    found: dict[int, Mapping[str, Any]] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ImportRefused(
                f"{name}, line {number}, is not JSON ({error}): give JSON lines, a Workload each",
                code="workloads",
            ) from error
        if broken := schemas.violation(data, _SCHEMA):
            raise ImportRefused(
                f"{name}, line {number}, is not a Workload: {broken}", code="workloads"
            )
        if data["definition"] == definition.name:
            found[number] = data["workload"]
    if not found:
        raise ImportRefused(
            f"{name} has no workload of {definition.name}: give its own file", code="workloads"
        )
    return found


def _given(
    found: Mapping[int, Mapping[str, Any]], name: str, chosen: Mapping[str, float]
) -> dict[str, float]:
    """The scalars that all workloads agree on, but for those that an option chose."""
    values: dict[str, set[float]] = {}
    for each in found.values():
        for key, given in each["inputs"].items():
            if key in chosen or given["type"] != "scalar":
                continue
            if isinstance(given.get("value"), int | float):
                # Captured in single precision: the last digits scatter.
                values.setdefault(key, set()).add(float(f"{given['value']:.6g}"))
    for key, several in values.items():
        if len(several) > 1:
            some = ", ".join(f"{each:g}" for each in sorted(several)[:3])
            raise ImportRefused(
                f"{name} has several values of {key} ({some}): choose one by --scalar {key}=VALUE",
                code="scalar",
            )
    return {key: several.pop() for key, several in values.items()}


def _scalars(
    definition: Definition, chosen: Mapping[str, float], given: Mapping[str, float]
) -> dict[str, float]:
    wanted = [each.name for each in definition.scalars]
    if unknown := sorted(set(chosen) - set(wanted)):
        raise ImportRefused(
            f"--scalar names {', '.join(unknown)}; the scalars are {', '.join(wanted) or 'none'}",
            code="scalar",
        )
    values = {**given, **chosen}
    if missing := [name for name in wanted if name not in values]:
        raise ImportRefused(
            f"the scalar {missing[0]} has no value: give it by --scalar {missing[0]}=VALUE",
            code="scalar",
        )
    return {
        each.name: int(values[each.name]) if each.is_integer else values[each.name]
        for each in definition.scalars
    }


def _require_axes(definition: Definition, axes: Mapping[str, int], where: str) -> None:
    if missing := [axis for axis in definition.variables if axis not in axes]:
        example = ",".join(f"{axis}=SIZE" for axis in definition.variables)
        raise ImportRefused(
            f"{', '.join(missing)} varies and {where} has no size of it: give --workloads FILE, or "
            f"sizes by --axes {example}",
            code="axes",
        )
    for constraint in definition.constraints:
        if _holds(constraint, axes) is False:
            sizes = ", ".join(f"{axis}={axes[axis]}" for axis in definition.variables)
            raise ImportRefused(
                f"{where} ({sizes}) does not fit the constraint {constraint}: change the sizes",
                code="constraint",
            )


def _holds(constraint: str, axes: Mapping[str, int]) -> bool | None:
    """Whether a constraint between axes holds; None where it is about more than axes."""
    try:
        found = _value(ast.parse(constraint, mode="eval").body, axes)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ZeroDivisionError):
        return None
    return found if isinstance(found, bool) else None


def _value(node: ast.expr, axes: Mapping[str, int]) -> int | bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id in axes:
        return axes[node.id]
    sign: type[ast.AST]
    if isinstance(node, ast.BinOp):
        left, right, sign = node.left, node.right, type(node.op)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right, sign = node.left, node.comparators[0], type(node.ops[0])
    else:
        raise ValueError("not of axes alone")
    if sign not in _OPERATIONS:
        raise ValueError("not of axes alone")
    found: int | bool = _OPERATIONS[sign](_value(left, axes), _value(right, axes))
    if abs(found) > _LARGEST:
        raise ValueError("too large")
    return found
