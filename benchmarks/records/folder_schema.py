"""The schema of `benchmark.toml` in a benchmark folder."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

from benchmarks.records import documents, schemas
from kernels.definition import ITEM_BYTES, Distribution, Protocol

FORMAT = "twofold.folder/1"
_TENSOR = schemas.exactly(
    optional=("dtype", "distribution", "scale", "fan_in", "below"),
    name=schemas.TEXT,
    shape=schemas.listed({"anyOf": [schemas.TEXT, schemas.POSITIVE_COUNT]}),
    dtype={"type": "string"},
    distribution={"enum": list(get_args(Distribution))},
    scale=schemas.NUMBER,
    fan_in=schemas.listed(schemas.TEXT),
    below={"type": "string"},
)
_TOLERANCE = {
    "anyOf": [
        schemas.exactly(
            optional=("rms_factor",),
            terms=schemas.POSITIVE_COUNT,
            roundings=schemas.POSITIVE_COUNT,
            rms_factor=schemas.POSITIVE,
        ),
        schemas.exactly(
            optional=("rms_factor",),
            max_abs=schemas.NOT_NEGATIVE,
            max_rel=schemas.NOT_NEGATIVE,
            matched_share=schemas.SHARE,
            hard_cap_abs=schemas.NOT_NEGATIVE,
            rms_factor=schemas.POSITIVE,
        ),
    ]
}
_CONTENTS = schemas.exactly(
    optional=("scale", "plant"), scale=schemas.NUMBER, plant={"enum": ["nan", "inf", "-inf"]}
)
_TENSORS = {
    "state": schemas.listed(_TENSOR),
    "inputs": schemas.listed(_TENSOR, at_least=1),
    "outputs": schemas.listed(_TENSOR, at_least=1),
}
SCHEMA = schemas.exactly(
    optional=(
        "state",
        "baseline",
        "target",
        "confidence",
        "operator_tolerance",
        "held_back",
        "protocol",
        "baselines",
        "flops",
        "traffic",
    ),
    format={"const": FORMAT},
    operator={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
    title=schemas.TEXT,
    summary=schemas.TEXT,
    dtype={"enum": list(ITEM_BYTES)},
    baseline={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
    target=schemas.POSITIVE,
    confidence={"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 1},
    axes=schemas.by_name({"type": "string"}),
    **_TENSORS,
    program=schemas.exactly(
        optional=("launch", "chain", *_TENSORS),
        name=schemas.TEXT,
        launch={"enum": ["eager", "graph"]},
        chain=schemas.by_name(schemas.TEXT),
        **_TENSORS,
    ),
    tolerance=_TOLERANCE,
    operator_tolerance=_TOLERANCE,
    held_back=schemas.exactly(
        optional=("free", "strided", "special"),
        free=schemas.listed(schemas.TEXT),
        strided=schemas.listed(schemas.TEXT),
        special=schemas.listed(
            schemas.exactly(
                optional=("gain",),
                name=schemas.TEXT,
                contents=schemas.by_name(_CONTENTS),
                gain=schemas.POSITIVE,
            )
        ),
    ),
    workloads=schemas.listed(
        schemas.exactly(
            optional=("captured",),
            captured=schemas.TEXT,
            name=schemas.TEXT,
            axes=schemas.by_name(schemas.POSITIVE_COUNT),
            weight={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        ),
        at_least=1,
    ),
    hardware=schemas.exactly(optional=("name",), device=schemas.DEVICE, name=schemas.TEXT),
    # What each value must be, the benchmark's own schema checks.
    protocol={
        "type": "object",
        "properties": {
            "base": {"enum": ["tiny", "cpu", "cuda", "h200"]},
            **{field.name: {} for field in fields(Protocol)},
        },
        "additionalProperties": False,
    },
    baselines=schemas.by_name(
        schemas.exactly(
            optional=("package", "title"), package={"type": "string"}, title={"type": "string"}
        )
    ),
    traffic=documents.TRAFFIC,
    flops=schemas.listed(
        schemas.listed({"anyOf": [schemas.TEXT, schemas.POSITIVE_COUNT]}, at_least=1), at_least=1
    ),
)
