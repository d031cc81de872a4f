"""The record (`twofold.record/1`): its schema, parsing, digest and file format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from benchmarks.records import documents, observations, samples, schemas, signatures
from benchmarks.records.canonical import canonical, digest, parse_strictly
from benchmarks.records.findings import FindingKind
from benchmarks.records.redaction import without_source
from benchmarks.records.signatures import SigningKey

SCHEMA_NAME = "twofold.record/1"
MAX_BYTES = 8_000_000

_ERROR = schemas.nullable(schemas.NOT_NEGATIVE)
_CHECKS = schemas.exactly(
    # Absent from records made before the RMS errors were compared.
    optional=("rms",),
    rms=observations.RMS,
    calls_checked=schemas.COUNT,
    calls_probed=schemas.COUNT,
    max_abs_error=_ERROR,
    max_rel_error=_ERROR,
    matched_share=schemas.nullable(schemas.SHARE),
    repeats_checked=schemas.COUNT,
    repeats_identical=schemas.COUNT,
)
_ROUND = schemas.exactly(
    first=schemas.SIDE, baseline_us=schemas.NUMBER, candidate_us=schemas.NUMBER
)
_WORKLOAD = schemas.exactly(
    # Absent from records made before they were introduced; `parts` are measured on a GPU alone.
    optional=("single", "parts", "chain_us"),
    # What chaining adds to a call in us; the rounds' times are without it.
    chain_us=schemas.NOT_NEGATIVE,
    name=schemas.TEXT,
    calls=schemas.POSITIVE_COUNT,
    overhead_us=schemas.NOT_NEGATIVE,
    working_set_bytes=schemas.COUNT,
    rounds=schemas.listed(_ROUND, at_least=1),
    telemetry=schemas.nullable(observations.TELEMETRY),
    checks=_CHECKS,
    single=schemas.nullable(observations.SINGLE),
    parts=observations.PARTS,
)
_SETUP = schemas.exactly(
    elapsed_s=schemas.NOT_NEGATIVE, memory_bytes=schemas.nullable(schemas.COUNT)
)
_REPLICATE = schemas.exactly(
    order=schemas.listed(schemas.SIDE, at_least=2),
    setup=schemas.exactly(baseline=_SETUP, candidate=_SETUP),
    workloads=schemas.listed(_WORKLOAD, at_least=1),
)
_FINDING = schemas.exactly(
    kind={"enum": list(get_args(FindingKind))},
    side=schemas.SIDE,
    replicate=schemas.COUNT,
    workload=schemas.TEXT,
    message=schemas.TEXT,
)
_TRIAL_CHECKS = schemas.exactly(
    **{
        name: form
        for name, form in _CHECKS["properties"].items()
        if name not in ("calls_probed", "rms")
    }
)
_CORRECTNESS = schemas.exactly(
    trials=schemas.listed(
        schemas.exactly(
            name=schemas.TEXT,
            kind={"enum": ["held_back", "special"]},
            level={"enum": ["operator", "program"]},
            axes=schemas.by_name(schemas.COUNT),
            outcome={"enum": ["right", "left_out"]},
            message=schemas.nullable(schemas.TEXT),
            checks=_TRIAL_CHECKS,
        )
    )
)
_OPTIONAL_NUMBER = schemas.nullable(schemas.NUMBER)
_SUMMARY = schemas.exactly(
    verdict={"enum": ["met", "missed", "inconclusive", "invalid", "disqualified"]},
    reasons=schemas.listed(schemas.TEXT, at_least=1),
    ratio=_OPTIONAL_NUMBER,
    low=_OPTIONAL_NUMBER,
    high=_OPTIONAL_NUMBER,
    target=schemas.POSITIVE,
    confidence=schemas.SHARE,
    workloads=schemas.listed(
        schemas.exactly(
            name=schemas.TEXT,
            weight=schemas.POSITIVE,
            baseline_us=_OPTIONAL_NUMBER,
            candidate_us=_OPTIONAL_NUMBER,
            ratio=_OPTIONAL_NUMBER,
            low=_OPTIONAL_NUMBER,
            high=_OPTIONAL_NUMBER,
        )
    ),
    looks=schemas.listed(
        schemas.exactly(
            replicates=schemas.POSITIVE_COUNT,
            confidence=schemas.SHARE,
            low=schemas.NUMBER,
            high=schemas.NUMBER,
            verdict={"enum": ["met", "missed", "inconclusive"]},
        )
    ),
    replicates=schemas.COUNT,
    rounds=schemas.COUNT,
    calls_checked=schemas.COUNT,
    detection=schemas.TEXT,
)
_VERSION = schemas.nullable(schemas.TEXT)
_ENVIRONMENT = schemas.exactly(
    # Of runs with several ranks: their devices, and the link between each pair.
    optional=("ranks",),
    ranks=schemas.exactly(
        count=schemas.POSITIVE_COUNT,
        devices=schemas.nullable(
            schemas.listed(
                schemas.exactly(name=schemas.TEXT, numa_node=schemas.nullable(schemas.COUNT))
            )
        ),
        links=schemas.nullable(
            schemas.listed(
                schemas.exactly(
                    ranks=schemas.listed(schemas.COUNT),
                    peer_access={"type": "boolean"},
                    nvlinks=schemas.nullable(schemas.COUNT),
                    path=schemas.nullable(schemas.TEXT),
                )
            )
        ),
    ),
    device=schemas.exactly(
        kind=schemas.DEVICE,
        name=schemas.TEXT,
        memory_bytes=schemas.POSITIVE_COUNT,
        cache_bytes=schemas.nullable(schemas.POSITIVE_COUNT),
    ),
    ceilings=schemas.nullable(observations.CEILINGS),
    python=schemas.TEXT,
    platform=schemas.TEXT,
    cpu=schemas.TEXT,
    cores=schemas.POSITIVE_COUNT,
    torch=schemas.TEXT,
    triton=_VERSION,
    cuda=_VERSION,
    driver=_VERSION,
    packages=schemas.by_name({"type": "string"}),
    isolation=schemas.by_name({"type": "boolean"}),
)
# Absent from records made before it was introduced.
_OPTIONAL = ("phases_s", "provenance", "nonces", "countersignatures")
NONCE = {"type": "string", "pattern": "^[0-9a-f]{32,128}$"}
ISSUERS = ("site", "customer")
SCHEMA = schemas.exactly(
    optional=_OPTIONAL,
    schema={"const": SCHEMA_NAME},
    benchmark={"type": "object"},
    benchmark_digest=schemas.DIGEST,
    candidate=schemas.exactly(
        # The end of what a disqualified one printed; withheld like its source.
        optional=("output", "output_digest"),
        output=schemas.nullable({"type": "string"}),
        output_digest=schemas.DIGEST,
        name=schemas.TEXT,
        filename=schemas.TEXT,
        source_digest=schemas.DIGEST,
        source=schemas.nullable({"type": "string"}),
    ),
    environment=_ENVIRONMENT,
    command=schemas.TEXT,
    provenance=schemas.exactly(
        referee=schemas.DIGEST,
        sources={**schemas.by_name(schemas.DIGEST), "minProperties": 1},
    ),
    nonces=schemas.exactly(optional=ISSUERS, **dict.fromkeys(ISSUERS, NONCE)),
    started_at=schemas.TEXT,
    finished_at=schemas.TEXT,
    elapsed_s=schemas.NOT_NEGATIVE,
    phases_s=schemas.by_name(schemas.NOT_NEGATIVE),
    replicates=schemas.listed(_REPLICATE),
    correctness=schemas.nullable(_CORRECTNESS),
    observations=observations.SCHEMA,
    controls=schemas.listed(observations.CONTROL),
    operator=schemas.nullable(observations.OPERATOR),
    findings=schemas.listed(_FINDING),
    summary=_SUMMARY,
    digest=schemas.DIGEST,
    signature=schemas.nullable(signatures.SCHEMA),
    countersignatures=signatures.COUNTERSIGNATURES,
)


class RecordError(ValueError):
    """A record cannot be read."""


def published_schema() -> dict[str, Any]:
    """The JSON Schema (Draft 2020-12) of a record's file."""
    fields = {
        **SCHEMA["properties"],
        "benchmark": documents.SCHEMA,
        "replicates": {"anyOf": [samples.PACKED_SCHEMA, SCHEMA["properties"]["replicates"]]},
    }
    form = schemas.exactly(optional=_OPTIONAL, **fields)
    return schemas.published(form, name=SCHEMA_NAME, title="A Twofold record")


def content_of(file: Path) -> bytes:
    """The bytes of a file, up to one over the limit. Raises OSError."""
    with file.open("rb") as opened:
        return opened.read(MAX_BYTES + 1)


def load(content: bytes) -> dict[str, Any]:
    """Parse a record and check its schema. Raises RecordError.

    The contents are still untrusted: `consistency.problems` recomputes them.
    """
    if len(content) > MAX_BYTES:
        raise RecordError(f"the record is larger than {MAX_BYTES:,} bytes")
    record = _unpacked(_parsed(content))
    broken = schemas.violation(record, SCHEMA)
    if broken:
        raise RecordError(f"record {broken}")
    try:
        documents.check(record["benchmark"])
        # Canonical JSON writes 4.0 as 4, so the digest covers 4.
        plain = json.loads(canonical(record))
    except ValueError as error:
        raise RecordError(f"record: {error}") from error
    assert isinstance(plain, dict)
    return plain


def _parsed(content: bytes) -> Any:
    try:
        return parse_strictly(content)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"the record is not valid JSON: {error}") from error


def _unpacked(record: Any) -> Any:
    """The record with its samples decompressed, if they are compressed."""
    if not isinstance(record, dict) or not isinstance(record.get("replicates"), dict):
        return record
    packed = record["replicates"]
    broken = schemas.violation(packed, samples.PACKED_SCHEMA)
    if broken:
        raise RecordError(f"record $.replicates: {broken}")
    try:
        return {**record, "replicates": _parsed(samples.decompress(packed))}
    except ValueError as error:
        raise RecordError(f"record $.replicates: {error}") from error


def digest_of(record: Mapping[str, Any]) -> str:
    """The digest of the canonical JSON without the record's digest and signature.

    The candidate's source is covered by its own digest, so it can be withheld (`redaction`).
    """
    covered = without_source(record)
    return digest(
        {
            key: value
            for key, value in covered.items()
            if key not in ("digest", *signatures.SIGNATURES)
        }
    )


def serialize(record: Mapping[str, Any], key: SigningKey | None) -> bytes:
    """The bytes of a sealed record's file: samples compressed, signed by `key` if there is one."""
    packed = {**record, "replicates": samples.compress(record["replicates"])}
    return signatures.sign(packed, key)
