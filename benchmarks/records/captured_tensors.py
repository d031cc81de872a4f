"""Captured tensors of a benchmark: safetensors files beside its folder, sealed by their digests.

A workload names one file. Its tensors replace the random contents of the Program's inputs or state
of the same names; the harness changes them for every call (`devices.captured`). No torch here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize

from benchmarks.records import schemas
from benchmarks.records.canonical import digest_of_bytes
from kernels.definition import TensorSpec

FOLDER = "captured"
NAME = re.compile(rf"{FOLDER}/[a-z][a-z0-9_]*\.safetensors")
# Of all files of a benchmark. They are read whole: by the site's upload, a worker and the referee.
MAX_BYTES = 64 * 2**20
# The site lists them, and every reading checks each.
_MOST_TENSORS = 64
# The name of a dtype in safetensors, and the numpy dtype of its bits.
_DTYPES = {
    "F64": ("float64", "u8"),
    "F32": ("float32", "u4"),
    "F16": ("float16", "u2"),
    "BF16": ("bfloat16", "u2"),
    "F8_E4M3": ("float8_e4m3fn", "u1"),
    "F8_E5M2": ("float8_e5m2", "u1"),
    "I64": ("int64", "i8"),
    "I32": ("int32", "i4"),
    "I16": ("int16", "i2"),
    "I8": ("int8", "i1"),
    "U8": ("uint8", "u1"),
    "BOOL": ("bool", "u1"),
}
# The bits that are all set in NaN and infinity.
_SPECIAL_BITS = {
    "float64": 0x7FF0_0000_0000_0000,
    "float32": 0x7F80_0000,
    "float16": 0x7C00,
    "bfloat16": 0x7F80,
    "float8_e4m3fn": 0x7F,
    "float8_e5m2": 0x7C,
}
DESCRIBED = schemas.by_name(
    schemas.exactly(
        digest=schemas.DIGEST,
        bytes=schemas.POSITIVE_COUNT,
        tensors=schemas.by_name(
            schemas.exactly(dtype=schemas.TEXT, shape=schemas.listed(schemas.POSITIVE_COUNT))
        ),
    )
)

Described = Mapping[str, Any]


class CapturedError(ValueError):
    """Captured tensors that cannot be measured with; the text says which and what to do."""

    code = "folder.captured"


def read(folder: Path) -> dict[str, bytes]:
    """The captured files of a benchmark folder by path. Raises CapturedError."""
    found: dict[str, bytes] = {}
    for path in sorted((folder / FOLDER).glob("*.safetensors")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file():
            raise CapturedError(f"{name} is a link: copy the file")
        require_room(sum(map(len, found.values())) + path.stat().st_size)
        found[name] = path.read_bytes()
    return found


def require_room(nbytes: int) -> None:
    """Refuse captured files of more than the limit."""
    if nbytes > MAX_BYTES:
        raise CapturedError(
            f"the captured tensors have {nbytes:,} bytes or more; a benchmark has at most "
            f"{MAX_BYTES:,}: capture fewer workloads, or only the tensors whose values matter"
        )


def described(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Digest, size and tensors of each file, as they are sealed. Raises CapturedError."""
    require_room(sum(map(len, files.values())))
    return {
        name: {
            "digest": digest_of_bytes(content),
            "bytes": len(content),
            "tensors": {
                each: {"dtype": dtype, "shape": list(bits.shape)}
                for each, (dtype, bits) in tensors(content, name).items()
            },
        }
        for name, content in files.items()
    }


def tensors(content: bytes, name: str) -> dict[str, tuple[str, np.ndarray[Any, Any]]]:
    """The dtype and the bits of each tensor of a file. Raises CapturedError."""
    try:
        entries = deserialize(content)
    except (SafetensorError, ValueError, OverflowError, MemoryError) as error:
        raise CapturedError(
            f"{name} is no safetensors file ({error}): write it by safetensors.torch.save_file"
        ) from error
    if not 0 < len(entries) <= _MOST_TENSORS:
        raise CapturedError(f"{name} has {len(entries)} tensors: give 1 to {_MOST_TENSORS}")
    found = {}
    for each, entry in entries:
        known = _DTYPES.get(entry["dtype"])
        if known is None or not all(entry["shape"]):
            raise CapturedError(
                f"{name}: {each} is {entry['dtype']} of the shape {entry['shape']}: use "
                f"{', '.join(dtype for dtype, _ in _DTYPES.values())}, and no axis of 0"
            )
        dtype, bits = known
        found[each] = dtype, np.frombuffer(entry["data"], dtype=f"<{bits}").reshape(entry["shape"])
    return found


def check(document: Mapping[str, Any]) -> None:
    """Hold what a document says of captured tensors against its axes. Raises CapturedError."""
    captured: Mapping[str, Described] = document.get("captured", {})
    loads = [load for load in document["workloads"] if "captured" in load]
    if unused := sorted(set(captured) - {load["captured"] for load in loads}):
        raise CapturedError(f"no workload names {unused[0]}: add captured = {unused[0]!r} to one")
    require_room(sum(each["bytes"] for each in captured.values()))
    for name in captured:
        if not NAME.fullmatch(name):
            raise CapturedError(f"{name}: name it {FOLDER}/NAME.safetensors, in small letters")
    if captured and "ranks" in document["definition"]["axes"]:
        raise CapturedError("a benchmark of several ranks has no captured tensors: remove them")
    for load in loads:
        if load["captured"] not in captured:
            raise CapturedError(
                f"workload {load['name']} names {load['captured']}: add that file to the folder"
            )
        _check_workload(document, load, captured[load["captured"]])


def _check_workload(document: Mapping[str, Any], load: Mapping[str, Any], held: Described) -> None:
    definition, where = document["definition"], f"{load['captured']} of workload {load['name']}"
    specs = specs_of(definition)
    for name, tensor in held["tensors"].items():
        if name not in specs:
            raise CapturedError(
                f"{where} has {name}, the step {', '.join(specs)}: rename it or leave it out"
            )
        spec = specs[name]
        needed = [load["axes"].get(side, side) for side in spec.shape]
        if tensor["shape"] != needed or tensor["dtype"] != (spec.dtype or document["dtype"]):
            raise CapturedError(
                f"{where}: {name} is {tensor['dtype']} {tensor['shape']}; the workload’s axes give "
                f"{spec.dtype or document['dtype']} {needed}: change the axes or capture it again"
            )
        if name in definition.get("chain", {}):
            raise CapturedError(
                f"{where}: {name} is chained, which replaces its signs: leave it out, or remove "
                "the chain"
            )
    if not any(
        spec["name"] not in held["tensors"] and _is_random(spec)
        for spec in definition["program_inputs"]
    ):
        raise CapturedError(
            f"{where} leaves no input of random numbers, so a candidate could store results: leave "
            "one input of the step out of the file, such as the activations"
        )


def _is_random(spec: Mapping[str, Any]) -> bool:
    """Whether an input is of random numbers: every call's results differ by it."""
    integer = "int" in spec["dtype"] or spec["dtype"] == "bool"
    return not integer and spec["distribution"] in ("normal", "uniform")


def specs_of(definition: Mapping[str, Any]) -> dict[str, TensorSpec]:
    """The Program's state and inputs by name."""
    return {
        data["name"]: TensorSpec(**data)
        for part in ("program_state", "program_inputs")
        for data in definition[part]
    }


def opened(
    document: Mapping[str, Any], files: Mapping[str, bytes]
) -> dict[str, dict[str, tuple[str, np.ndarray[Any, Any]]]]:
    """The tensors of each file that a document seals, with their values checked.

    Raises CapturedError for files that are missing or not the sealed ones.
    """
    found = {}
    for name, held in document.get("captured", {}).items():
        if name not in files:
            raise CapturedError(f"{name} is missing: put it beside the benchmark")
        if digest_of_bytes(files[name]) != held["digest"]:
            raise CapturedError(f"{name} is not the sealed one: its digest is {held['digest']}")
        found[name] = tensors(files[name], name)
        for load in document["workloads"]:
            if load.get("captured") == name:
                _check_values(document, load, found[name])
    return found


def _check_values(
    document: Mapping[str, Any],
    load: Mapping[str, Any],
    held: Mapping[str, tuple[str, np.ndarray[Any, Any]]],
) -> None:
    specs = specs_of(document["definition"])
    for name, (dtype, bits) in held.items():
        where = f"{load['captured']}: {name}"
        if special := _SPECIAL_BITS.get(dtype):
            if bool(((bits & bits.dtype.type(special)) == special).any()):
                raise CapturedError(f"{where} has NaN or infinity: capture finite numbers")
            continue
        spec = specs[name]
        if not spec.below:
            continue
        length = load["axes"][spec.below]
        ends = spec.distribution == "offsets"
        if int(bits.min()) < 0 or int(bits.max()) > length - (not ends):
            raise CapturedError(
                f"{where} has {int(bits.min())} to {int(bits.max())}, and {spec.below} is "
                f"{length}: capture it again, or change the axis"
            )
        flat = bits.reshape(-1)
        if ends and (flat[0] != 0 or flat[-1] != length or bool((np.diff(flat) < 0).any())):
            raise CapturedError(
                f"{where} must ascend from 0 to {spec.below}, {length}: capture it again"
            )


def shapes_text(held: Described) -> str:
    """The tensors of a file in words: names, dtypes and shapes."""
    return ", ".join(
        f"{name} {each['dtype']} [{' × '.join(map(str, each['shape']))}]"
        for name, each in held["tensors"].items()
    )
