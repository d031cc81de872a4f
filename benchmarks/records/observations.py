"""The referee's observations beside the samples, from which controls are judged."""

from __future__ import annotations

from typing import Any

from benchmarks.records import schemas

_COLUMNS = schemas.exactly(
    sm_mhz=schemas.listed(schemas.COUNT),
    memory_mhz=schemas.listed(schemas.COUNT),
    power_w=schemas.listed(schemas.NOT_NEGATIVE),
    temperature_c=schemas.listed(schemas.COUNT),
    throttle=schemas.listed(schemas.COUNT),
)
TELEMETRY = schemas.exactly(baseline=_COLUMNS, candidate=_COLUMNS)
"""One reading per round and side, in the order of the rounds."""

_TIMES_US = schemas.listed(schemas.NUMBER, at_least=1)
SINGLE = schemas.exactly(baseline=_TIMES_US, candidate=_TIMES_US)
"""Times of one-call rounds in us, in the order of measurement."""

CEILINGS = schemas.exactly(
    copy_bytes_per_s=schemas.POSITIVE, matmul_flops_per_s=schemas.by_name(schemas.POSITIVE)
)
CONTROL = schemas.exactly(
    name=schemas.TEXT, passed=schemas.nullable({"type": "boolean"}), detail=schemas.TEXT
)
_RMS = schemas.by_name(schemas.nullable(schemas.NOT_NEGATIVE))
RMS = schemas.exactly(baseline=_RMS, candidate=_RMS)
"""By side and output: the RMS error over the RMS of the reference; null where it is infinite."""

_PER_CALL_US = schemas.listed(schemas.NUMBER, at_least=1)
PARTS = schemas.exactly(calls=schemas.POSITIVE_COUNT, baseline=_PER_CALL_US, candidate=_PER_CALL_US)
"""Rounds of a part of the calls, so many each; times in us per call, without the fixed cost."""

_PAIR = schemas.exactly(
    # `slot` is the index in `costs` of what the step calls, only of the operator alone;
    # `telemetry` is that of an A/A pair.
    optional=("slot", "rms", "telemetry", "chain_us"),
    chain_us=schemas.NOT_NEGATIVE,
    rms=RMS,
    telemetry=schemas.nullable(TELEMETRY),
    name=schemas.TEXT,
    slot=schemas.COUNT,
    calls=schemas.POSITIVE_COUNT,
    overhead_us=schemas.NOT_NEGATIVE,
    rounds=schemas.listed(
        schemas.exactly(
            first=schemas.SIDE, baseline_us=schemas.NUMBER, candidate_us=schemas.NUMBER
        ),
        at_least=2,
    ),
)
_SLOT = schemas.exactly(axes=schemas.by_name(schemas.POSITIVE_COUNT), calls=schemas.POSITIVE_COUNT)
_TEXTS = schemas.listed(schemas.TEXT)
REACH = schemas.exactly(imports=_TEXTS, patches=_TEXTS, changed=_TEXTS)
"""What a candidate imports, what its source does outside its slot, and what it changed there."""

SCHEMA = schemas.exactly(
    # Absent from records made before they were introduced; `rest` is the step around an empty slot,
    # by the baseline's code on both sides.
    optional=("reach", "rest"),
    reach=REACH,
    rest=schemas.nullable(schemas.listed(_PAIR)),
    same_code=schemas.nullable(_PAIR),
    operator=schemas.nullable(schemas.listed(_PAIR)),
    costs=schemas.nullable(
        schemas.listed(
            schemas.exactly(
                # Records from before slots existed counted calls of one shape.
                optional=("slots",),
                name=schemas.TEXT,
                operator_calls=schemas.POSITIVE_COUNT,
                slots=schemas.listed(_SLOT, at_least=1),
                flops=schemas.nullable(schemas.NOT_NEGATIVE),
                bytes=schemas.nullable(schemas.NOT_NEGATIVE),
            )
        )
    ),
    gpu=schemas.exactly(
        why_not=schemas.nullable(schemas.TEXT),
        idle_percent=schemas.nullable(schemas.COUNT),
        foreign_processes=schemas.nullable(schemas.listed(schemas.COUNT)),
        ecc_uncorrected=schemas.nullable(schemas.listed(schemas.COUNT, at_least=2)),
    ),
)
_MAYBE = schemas.nullable(schemas.NUMBER)
_SHARES = schemas.exactly(bandwidth=_MAYBE, arithmetic=_MAYBE)
OPERATOR = schemas.exactly(
    workloads=schemas.listed(
        schemas.exactly(
            name=schemas.TEXT,
            baseline_us=schemas.POSITIVE,
            candidate_us=schemas.POSITIVE,
            ratio=schemas.POSITIVE,
            flops=schemas.nullable(schemas.NOT_NEGATIVE),
            bytes=schemas.nullable(schemas.NOT_NEGATIVE),
            ceiling_shares=schemas.exactly(baseline=_SHARES, candidate=_SHARES),
            account=schemas.nullable(
                schemas.exactly(
                    operator_calls=schemas.POSITIVE_COUNT,
                    share_of_baseline_step=schemas.NUMBER,
                    predicted_ratio=_MAYBE,
                    measured_ratio=schemas.NUMBER,
                    unexplained=_MAYBE,
                )
            ),
        )
    )
)


def nothing(why_not: str) -> dict[str, Any]:
    """Observations of a run that has measured nothing; `why_not` is about the GPU."""
    return {
        "same_code": None,
        "operator": None,
        "costs": None,
        "gpu": {
            "why_not": why_not,
            "idle_percent": None,
            "foreign_processes": None,
            "ecc_uncorrected": None,
        },
    }


def pair(entry: dict[str, Any]) -> dict[str, Any]:
    """A workload's entry, reduced to the fields of an A/A or operator pair, without telemetry."""
    fields = ("name", "calls", "overhead_us", "chain_us", "rounds")
    kept = {key: entry[key] for key in fields if key in entry}
    return kept | {"rms": entry["checks"]["rms"]}
