"""The files of a benchmark folder that say what a Definition says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.records import benchmark_folders, traffic_workloads
from benchmarks.records.flashinfer_bench.definitions import Definition, Tensor
from benchmarks.records.flashinfer_bench.errors import ImportRefused
from benchmarks.records.flashinfer_bench.workloads import Sizes
from benchmarks.records.folder_errors import DESCRIPTION, FolderError

BASELINE = "definition"
# The constraint that says where a ragged batch's offsets end.
_ENDS = re.compile(r"(\w+) == (\w+)\[-1\]\.item\(\)")
# What FlashInfer's integers point into, by the project's own names.
_INDICES = {
    "kv_indices": ("num_pages", "permutation"),
    "block_table": ("num_pages", "uniform"),
    "sparse_indices": ("num_pages", "uniform"),
    "seq_lens": ("max_num_pages", "uniform"),
    "kv_last_page_len": ("page_size", "uniform"),
    "positions": ("max_seq_len", "uniform"),
    "state_batch_indices": ("state_cache_size", "permutation"),
    "initial_state_indices": ("pool_size", "permutation"),
}
# Values of 8 bits without an axis: 0 to 127.
_SMALL = {"int8": 128.0, "uint8": 256.0}
_ROUNDINGS = 4
_MOST_CALLS = 1024

_PROGRAM = '''"""The step is the operator itself: put it into yours."""


class Step:
    """One call of the solution."""

    def __init__(self, *, solution, state, axes):
        self._run = solution.run
        self._prepared = solution.prepare(state, axes)

    def __call__(self, inputs, out):
        """Write every element of every output."""
        self._run(self._prepared, inputs, out)
'''
_SHARED = '''

_OUTPUTS = {outputs}
_SCALARS = {scalars}
_definition = run


def _results(tensors):
    """The outputs of the Definition's own `run`, by name."""
    given = {{**tensors, **_SCALARS}}
    found = _definition({call})
    if isinstance(found, dict):
        return found
    return dict(zip(_OUTPUTS, found if isinstance(found, tuple | list) else (found,), strict=True))
'''
_REFERENCE = '''

def reference(state, inputs, axes):
    """The Definition's results, from operands of at least 32 bits."""
    found = _results({name: _wide(each) for name, each in {**state, **inputs}.items()})
    return {name: _exact(each) for name, each in found.items()}


def reference_step(*, state, inputs, axes):
    """The step is the operator itself."""
    return reference(state, inputs, axes)


def _wide(tensor):
    return tensor.float() if tensor.is_floating_point() and tensor.itemsize < 4 else tensor


def _exact(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor
'''
_BASELINE = '''

def prepare(state, axes):
    """Untimed: lay out the state."""
    return dict(state)


def run(prepared, inputs, out):
    """Timed: write every element of every output."""
    for name, result in _results({**prepared, **inputs}).items():
        out[name].copy_(result)
'''


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the Definition leaves open: the device, and what integers point into."""

    device: str
    operator: str
    below: Mapping[str, str]


def files(definition: Definition, sizes: Sizes, options: Options) -> dict[str, str]:
    """A folder's files by path. Raises ImportRefused, and FolderError where they are no benchmark.

    Inputs without a varying axis are state, as weights are, and so are tables that indices point
    into: one call of N shares them.
    """
    indices = _pointing(definition, options.below)
    call = ", ".join(f'given["{each.name}"]' for each in definition.inputs)
    if definition.by_name:
        call = ", ".join(f'{each.name}=given["{each.name}"]' for each in definition.inputs)
    shared = _SHARED.format(
        outputs=json.dumps([each.name for each in definition.outputs]),
        scalars=json.dumps(sizes.scalars),
        call=call,
    )
    head = f"# From the FlashInfer-Bench Definition {definition.name}.\n"
    source = head + definition.reference.rstrip() + "\n" + shared
    made = {
        DESCRIPTION: _description(definition, sizes, options, indices),
        "program.py": _PROGRAM,
        "reference.py": source + _REFERENCE,
        f"baselines/{BASELINE}.py": source + _BASELINE,
    }
    try:
        benchmark_folders.document(made)
    except FolderError as error:
        if error.code != "folder.tensors":
            raise
        remedy = " or give --device cuda" if options.device == "cpu" else ""
        raise FolderError(
            f"{definition.name}: {error} by --axes{remedy}", code="tensors"
        ) from error
    return made


def _pointing(definition: Definition, below: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The axis and distribution of every integer input that points into an axis."""
    ends = {
        match[2]: match[1]
        for match in map(_ENDS.fullmatch, definition.constraints)
        if match and match[1] in definition.variables
    }
    axes = {**definition.constants, **dict.fromkeys(definition.variables, 0)}
    integers = {each.name: each for each in definition.tensors if each.dtype in ("int32", "int64")}
    for name, axis in below.items():
        if name not in integers or axis not in axes:
            raise ImportRefused(
                f"--below {name}={axis}: name an integer input ({', '.join(integers) or 'none'}) "
                f"and an axis ({', '.join(axes)})",
                code="option",
            )
    found = {}
    for name in integers:
        known = _INDICES.get(name)
        if name in below:
            found[name] = (below[name], known[1] if known else "uniform")
        elif name in ends:
            found[name] = (ends[name], "offsets")
        elif known and known[0] in axes:
            found[name] = known
        else:
            raise ImportRefused(
                f"nothing says what the integers of {name} point into: give the axis that they "
                f"stay below by --below {name}=AXIS ({', '.join(axes)}), if they are indices; "
                "packed or measured values need a captured tensor instead",
                code="below",
            )
    return found


def _description(
    definition: Definition,
    sizes: Sizes,
    options: Options,
    indices: Mapping[str, tuple[str, str]],
) -> str:
    state = {each.name for each in definition.tensors if _is_state(each, definition, indices)}
    if len(state) == len(definition.tensors):
        # The last one stays: calls differ by their inputs.
        state.remove(definition.tensors[-1].name)
    lines = [
        "# Converted from a Definition of FlashInfer-Bench. Review the step, the distributions,",
        "# the tolerance, and the baseline: it is the Definition's own code, no library's.",
        'format = "twofold.folder/1"',
        f"operator = {_text(options.operator)}",
        f"title = {_text(definition.name)}",
        f"summary = {_text(definition.description)}",
        f"dtype = {_text(definition.dtype)}",
        f"baseline = {_text(BASELINE)}",
        "",
        f"[baselines.{BASELINE}]",
        'package = "torch"',
        f"title = {_text('the Definition’s own PyTorch code')}",
        "",
        "[axes]",
        *(f"{axis} = {_text(about)}" for axis, about in definition.about_axes.items()),
    ]
    for each in definition.tensors:
        lines += _tensor("state" if each.name in state else "inputs", each, definition, indices)
    for each in definition.outputs:
        lines += _tensor("outputs", each, definition, {})
    lines += [
        "",
        "[program]",
        'name = "the operator alone"',
        "",
        "[tolerance]",
        f"terms = {_terms(definition)}",
        f"roundings = {_ROUNDINGS}",
        "",
        "[held_back]",
        f"free = {json.dumps(_free(definition, indices))}",
        "",
        "[hardware]",
        f"device = {_text(options.device)}",
        "",
        "[protocol]",
        f"base = {_text('tiny' if options.device == 'cpu' else 'cuda')}",
        "# An operator alone may take microseconds, and a round lasts round_ms.",
        f"max_calls = {_MOST_CALLS}",
    ]
    text = "\n".join(lines) + "\n"
    source = sizes.source or None
    return traffic_workloads.filled(text, sizes.drafted, source=source)


def _tensor(
    part: str, tensor: Tensor, definition: Definition, indices: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    shape = tensor.shape or ()
    yield from ("", f"[[{part}]]", f"name = {_text(tensor.name)}", f"shape = {json.dumps(shape)}")
    yield f"dtype = {_text(tensor.dtype)}"
    if part == "outputs":
        return
    if tensor.name in indices:
        axis, distribution = indices[tensor.name]
        yield from (f"distribution = {_text(distribution)}", f"below = {_text(axis)}")
    elif tensor.dtype in _SMALL:
        yield from ('distribution = "uniform"', f"scale = {_SMALL[tensor.dtype]}")
    elif part == "state" and len(shape) > 1 and not set(shape) & set(definition.variables):
        # A weight: its sums stay near 1.
        yield f"fan_in = {json.dumps(shape[-1:])}"


def _is_state(
    tensor: Tensor, definition: Definition, indices: Mapping[str, tuple[str, str]]
) -> bool:
    shape = tensor.shape or ()
    tables = {axis for axis, distribution in indices.values() if distribution != "offsets"}
    return shape[0] in tables or not set(shape) & set(definition.variables)


def _terms(definition: Definition) -> int:
    """The longest sum: over a constant axis that no output has, otherwise over any."""
    given = {axis for each in definition.tensors for axis in each.shape or ()}
    kept = {axis for each in definition.outputs for axis in each.shape or ()}
    constant = set(definition.constants)
    summed = (given - kept) & constant or given & constant
    return max((definition.constants[axis] for axis in summed), default=1)


def _free(definition: Definition, indices: Mapping[str, tuple[str, str]]) -> list[str]:
    """The axes of the correctness trials: those that no constraint or index speaks of."""
    named = set(re.findall(r"\w+", " ".join(definition.constraints)))
    named |= {axis for axis, _ in indices.values()}
    named |= {
        axis
        for each in definition.tensors
        if indices.get(each.name, ("", ""))[1] == "offsets"
        for axis in each.shape or ()
    }
    return [axis for axis in definition.variables if axis not in named]


def _text(value: Any) -> str:
    """A TOML string."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
