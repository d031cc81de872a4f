"""The benchmark document (`twofold.benchmark/1`): its schema and further checks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from benchmarks.records import captured_tensors, schemas
from benchmarks.records.canonical import canonical, digest_of_bytes, parse_strictly
from kernels.definition import Distribution

SCHEMA_NAME = "twofold.benchmark/1"
# Reading a record computes its schedule, and records are untrusted input.
_MOST_LOOKS = 1_000
MAX_BYTES = 1_000_000
# Shorter rounds are mostly fixed cost: an A/A pair of 2 ms rounds was 5% off.
_LEAST_CUDA_ROUND_MS = 20.0

_TENSOR = schemas.exactly(
    # Absent from documents sealed before it was introduced.
    optional=("below",),
    name=schemas.TEXT,
    shape=schemas.listed({"anyOf": [schemas.TEXT, schemas.POSITIVE_COUNT]}),
    dtype={"type": "string"},
    distribution={"enum": list(get_args(Distribution))},
    scale=schemas.NUMBER,
    fan_in=schemas.listed(schemas.TEXT),
    below={"type": "string"},
)
_TOLERANCE = schemas.exactly(
    # Sealed since the RMS error is compared with the baseline's.
    optional=("rms_factor",),
    rms_factor=schemas.nullable(schemas.POSITIVE),
    max_abs=schemas.NOT_NEGATIVE,
    max_rel=schemas.NOT_NEGATIVE,
    matched_share=schemas.SHARE,
    hard_cap_abs=schemas.NOT_NEGATIVE,
)
_CONTENTS = schemas.exactly(
    scale=schemas.NUMBER, plant=schemas.nullable({"enum": ["nan", "inf", "-inf"]})
)
_HELD_BACK = schemas.exactly(
    free=schemas.listed(schemas.TEXT),
    strided=schemas.listed(schemas.TEXT),
    special=schemas.listed(
        schemas.exactly(
            name=schemas.TEXT, contents=schemas.by_name(_CONTENTS), gain=schemas.POSITIVE
        )
    ),
)
_DEFINITION = schemas.exactly(
    # Absent without tolerances of the operator's own, and where calls are independent.
    optional=("operator_tolerances", "chain"),
    operator=schemas.TEXT,
    title=schemas.TEXT,
    summary=schemas.TEXT,
    axes=schemas.by_name({"type": "string"}),
    state=schemas.listed(_TENSOR),
    inputs=schemas.listed(_TENSOR),
    outputs=schemas.listed(_TENSOR),
    program=schemas.TEXT,
    program_state=schemas.listed(_TENSOR),
    program_inputs=schemas.listed(_TENSOR, at_least=1),
    program_outputs=schemas.listed(_TENSOR, at_least=1),
    tolerances=schemas.by_name(_TOLERANCE),
    operator_tolerances=schemas.by_name(_TOLERANCE),
    held_back=_HELD_BACK,
    chain=schemas.by_name(schemas.TEXT),
)
_PROTOCOL = schemas.exactly(
    # Benchmarks sealed before these are judged without.
    optional=(
        "noise_band",
        "interrupted_band",
        "account_margin",
        "aa_width",
        "rules",
        "allowed_reach",
        "estimator",
        "spare_cores",
    ),
    replicates=schemas.POSITIVE_COUNT,
    max_replicates=schemas.POSITIVE_COUNT,
    rounds=schemas.POSITIVE_COUNT,
    warmup_rounds=schemas.COUNT,
    round_ms=schemas.POSITIVE,
    max_calls=schemas.POSITIVE_COUNT,
    checked_calls=schemas.POSITIVE_COUNT,
    setup_limit_s=schemas.POSITIVE,
    round_limit_s=schemas.POSITIVE,
    look_every=schemas.POSITIVE_COUNT,
    warmup_ms=schemas.NOT_NEGATIVE,
    aa_rounds=schemas.COUNT,
    operator_rounds=schemas.COUNT,
    clock_band=schemas.SHARE,
    max_discarded=schemas.SHARE,
    noise_band=schemas.SHARE,
    interrupted_band=schemas.SHARE,
    account_margin=schemas.SHARE,
    aa_width=schemas.POSITIVE,
    rules={"enum": [1, 2, 3, 4]},
    allowed_reach=schemas.listed(schemas.TEXT),
    estimator={"enum": ["means", "adjacent_pairs"]},
    spare_cores=schemas.COUNT,
    held_back_shapes=schemas.COUNT,
)
# A band that admits a baseline slower by half hardly fails any.
WIDEST_BAND = 0.5
_CALIBRATION = schemas.exactly(
    baseline_us=schemas.by_name(schemas.POSITIVE),
    band={"type": "number", "minimum": 0, "maximum": WIDEST_BAND},
    device=schemas.TEXT,
)
_WORKLOAD = schemas.exactly(
    # The file of its captured tensors, where it has some.
    optional=("captured",),
    captured=schemas.TEXT,
    name=schemas.TEXT,
    axes=schemas.by_name(schemas.POSITIVE_COUNT),
    weight={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
)
# What the named workloads cover of a log's calls and of their time; `tail` represents the rest.
TRAFFIC = schemas.exactly(
    optional=("tail", "covered_time"),
    source=schemas.TEXT,
    calls=schemas.POSITIVE_COUNT,
    covered=schemas.SHARE,
    covered_time=schemas.SHARE,
    tail=schemas.TEXT,
)
SCHEMA = schemas.exactly(
    schema={"const": SCHEMA_NAME},
    # Absent from documents sealed before the operator had its own.
    # `files` only in benchmarks made from a folder: their text by path.
    # `captured` describes the files of captured tensors by path; they are beside the document.
    optional=("operator_tolerance", "arithmetic", "files", "traffic", "captured"),
    name=schemas.TEXT,
    operator={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
    dtype=schemas.TEXT,
    definition=_DEFINITION,
    program=schemas.exactly(name=schemas.TEXT, launch={"enum": ["eager", "graph"]}),
    files=schemas.by_name({"type": "string"}),
    sources={**schemas.by_name(schemas.DIGEST), "minProperties": 1},
    workloads=schemas.listed(_WORKLOAD, at_least=1),
    traffic=TRAFFIC,
    captured=captured_tensors.DESCRIBED,
    tolerance=_TOLERANCE,
    operator_tolerance=_TOLERANCE,
    arithmetic=schemas.TEXT,
    baseline=schemas.exactly(
        # The package version, set by calibration; without it, any version.
        optional=("version",),
        name=schemas.TEXT,
        package={"type": "string"},
        title={"type": "string"},
        version=schemas.TEXT,
    ),
    hardware=schemas.exactly(device=schemas.DEVICE, name=schemas.nullable(schemas.TEXT)),
    calibration=schemas.nullable(_CALIBRATION),
    target=schemas.POSITIVE,
    confidence={"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 1},
    protocol=_PROTOCOL,
)


class InvalidBenchmark(ValueError):
    """A benchmark document cannot be used; the text says which field and why."""


def published_schema() -> dict[str, Any]:
    """The JSON Schema (Draft 2020-12) of benchmark documents; `check` demands more."""
    return schemas.published(SCHEMA, name=SCHEMA_NAME, title="A Twofold benchmark")


def load(content: bytes) -> dict[str, Any]:
    """Parse and check a benchmark document. Raises InvalidBenchmark."""
    if len(content) > MAX_BYTES:
        raise InvalidBenchmark(f"the benchmark is larger than {MAX_BYTES:,} bytes")
    try:
        document = parse_strictly(content)
    except (ValueError, RecursionError) as error:
        raise InvalidBenchmark(f"the benchmark is not JSON: {error}") from error
    check(document)
    # Canonical JSON writes 4.0 as 4, so the digest covers 4.
    plain = json.loads(canonical(document))
    assert isinstance(plain, dict)
    return plain


def check(document: Any) -> None:
    """Raise InvalidBenchmark, naming the field, unless `document` is usable."""
    broken = schemas.violation(document, SCHEMA)
    if broken:
        raise InvalidBenchmark(f"benchmark {broken}")
    try:
        canonical(document)
    except ValueError as error:
        raise InvalidBenchmark(f"benchmark: {error}") from error
    _check_workloads(document)
    _check_axes(document)
    _check_chain(document)
    _check_agreement(document)
    _check_files(document)
    _check_captured(document)


def _check_workloads(document: dict[str, Any]) -> None:
    names = [workload["name"] for workload in document["workloads"]]
    if len(set(names)) != len(names):
        raise InvalidBenchmark(f"benchmark $.workloads: repeated names: {', '.join(names)}")
    total = math.fsum(workload["weight"] for workload in document["workloads"])
    if abs(total - 1) > 1e-9:
        raise InvalidBenchmark(f"benchmark $.workloads: weights add up to {total:g} instead of 1")


def _check_axes(document: dict[str, Any]) -> None:
    definition = document["definition"]
    needed: set[str] = set()
    for part in ("program_state", "program_inputs", "program_outputs"):
        names = [spec["name"] for spec in definition[part]]
        if len(set(names)) != len(names):
            raise InvalidBenchmark(f"benchmark $.definition.{part}: a tensor name is repeated")
        for spec in definition[part]:
            needed |= {side for side in spec["shape"] if isinstance(side, str)}
            needed |= {*spec["fan_in"], spec.get("below", "")} - {""}
    for index, workload in enumerate(document["workloads"]):
        missing = sorted(needed - set(workload["axes"]))
        if missing:
            raise InvalidBenchmark(
                f"benchmark $.workloads[{index}].axes: {', '.join(missing)} missing"
            )


def _check_chain(document: dict[str, Any]) -> None:
    """Require an input of normally distributed floats, or an index, and an output for each link."""
    definition = document["definition"]
    specs = {
        part: {spec["name"]: spec for spec in definition[f"program_{part}"]}
        for part in ("inputs", "outputs")
    }
    for name, source in definition.get("chain", {}).items():
        given, result = specs["inputs"].get(name), specs["outputs"].get(source)
        if given is None or result is None:
            raise InvalidBenchmark(f"benchmark $.definition.chain: no input {name} or no {source}")
        if "float8" in given["dtype"] + result["dtype"]:
            raise InvalidBenchmark(
                "benchmark $.definition.chain: 8-bit floats have no signs to compare"
            )
        integer = "int" in given["dtype"]
        if not (given.get("below") if integer else given["distribution"] == "normal"):
            raise InvalidBenchmark(
                f"benchmark $.definition.chain: input {name} is neither of normally distributed "
                "floats nor an index"
            )


def _check_agreement(document: dict[str, Any]) -> None:
    protocol = document["protocol"]
    if protocol["max_replicates"] < protocol["replicates"]:
        raise InvalidBenchmark("benchmark $.protocol.max_replicates is below replicates")
    if protocol["max_replicates"] - protocol["replicates"] > _MOST_LOOKS * protocol["look_every"]:
        raise InvalidBenchmark(f"benchmark $.protocol: more than {_MOST_LOOKS:,} looks")
    if protocol["rounds"] < 2 or protocol["aa_rounds"] == 1:
        raise InvalidBenchmark(
            "benchmark $.protocol: rounds must be at least 2, and aa_rounds 0 or at least 2"
        )
    if document["hardware"]["device"] == "cuda" and protocol["round_ms"] < _LEAST_CUDA_ROUND_MS:
        raise InvalidBenchmark(
            "benchmark $.protocol.round_ms: rounds on a GPU need at least "
            f"{_LEAST_CUDA_ROUND_MS:g} ms"
        )
    calibration = document["calibration"]
    if calibration is not None and set(calibration["baseline_us"]) != {
        workload["name"] for workload in document["workloads"]
    }:
        raise InvalidBenchmark("benchmark $.calibration has other workloads")
    if document["definition"]["operator"] != document["operator"]:
        raise InvalidBenchmark("benchmark $.definition.operator differs from $.operator")
    if document["program"]["launch"] == "graph" and document["hardware"]["device"] != "cuda":
        raise InvalidBenchmark("benchmark $.program.launch: graph requires device cuda")
    sealed = document["definition"]["tolerances"].get(document["dtype"])
    if sealed is not None and canonical(sealed) != canonical(document["tolerance"]):
        raise InvalidBenchmark("benchmark $.tolerance differs from the Definition's for this dtype")
    alone = document["definition"].get("operator_tolerances", {}).get(document["dtype"], sealed)
    own = document.get("operator_tolerance", alone)
    if alone is not None and canonical(alone) != canonical(own):
        raise InvalidBenchmark("benchmark $.operator_tolerance differs from the Definition's")


def _check_files(document: dict[str, Any]) -> None:
    """Require the text of exactly the sealed sources, where a benchmark contains its files."""
    files = document.get("files")
    if files is None:
        return
    found = {name: digest_of_bytes(text.encode()) for name, text in files.items()}
    if found != document["sources"]:
        raise InvalidBenchmark("benchmark $.files: not the files that $.sources names")


def _check_captured(document: dict[str, Any]) -> None:
    """Require captured tensors of the workloads' shapes."""
    try:
        captured_tensors.check(document)
    except captured_tensors.CapturedError as error:
        raise InvalidBenchmark(f"benchmark $.captured: {error}") from error


def ranks(document: Mapping[str, Any]) -> int:
    """The most processes of a side, each on a device of its own: the axis `ranks`, otherwise 1."""
    if "ranks" not in document["definition"]["axes"]:
        return 1
    return max(int(workload["axes"]["ranks"]) for workload in document["workloads"])
