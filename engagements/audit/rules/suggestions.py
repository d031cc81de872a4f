"""Suggest operators to audit: families, ranges and modules of the trace, the hottest first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engagements.audit.rules.devices import peak
from engagements.audit.rules.inputs import Operator
from engagements.evidence.readers import families
from engagements.evidence.readers.facts import GroupTime, TraceFacts
from kernels import families as families_of_models

# Copies and communication are not operators that a kernel could replace.
NO_OPERATORS = (families.COPY, families.MEMSET, families.COMMUNICATION, families.OTHER)
# A range around nearly everything is the step itself.
STEP_SHARE = 0.95
LISTED = 12

# Likely operators of the catalogue by family of kernels; a consultant chooses.
DEFINITIONS = {
    "attention": (
        "flash_attention",
        *families_of_models.operators("attention"),
        "shared_prefix_attention",
        "windowed_skip_attention",
    ),
    "mixture of experts": families_of_models.operators("experts"),
    "quantisation": ("int8_quantize", "residual_norm_quantize", "int8_linear", "int4_linear"),
    "matrix product": (
        "fused_linear_relu",
        "fused_ffn",
        "int8_linear",
        "int4_linear",
        "fp8_block_linear",
    ),
    "normalisation": ("residual_norm_quantize",),
    "rotary embedding": ("rotary_embedding",),
    "embedding and gather": ("embedding_lookup",),
    "sampling and sorting": families_of_models.operators("next token"),
    "scan": ("gated_delta_decode",),
}


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """An operator with its shares of wall-clock and of GPU time.

    `definitions` are candidate operators of the catalogue, the likeliest first.
    """

    operator: Operator
    share_of_wall: float
    share_of_gpu: float
    calls: int
    definitions: tuple[str, ...]


def suggest(trace: TraceFacts) -> tuple[Suggestion, ...]:
    """Return operators of the trace: families, the hottest first, then ranges and modules."""
    found = [
        _suggestion(group)
        for group in trace.families
        if group.name not in NO_OPERATORS and group.share_of_wall > 0
    ]
    steps = {step.name for step in trace.steps}
    seen = {(group.calls, round(group.busy_ms, 6)) for group in trace.families}
    for group in (*trace.modules, *trace.ranges):
        mark = (group.calls, round(group.busy_ms, 6))
        is_step = group.name in steps or group.share_of_gpu >= STEP_SHARE
        if not is_step and group.share_of_wall > 0 and mark not in seen:
            seen.add(mark)
            found.append(_suggestion(group))
    return tuple(found[:LISTED])


def _suggestion(group: GroupTime) -> Suggestion:
    return Suggestion(
        operator=Operator(kind=group.kind, name=group.name, pattern=group.pattern),
        share_of_wall=group.share_of_wall,
        share_of_gpu=group.share_of_gpu,
        calls=group.calls,
        definitions=DEFINITIONS.get(group.name, ()) if group.kind == "family" else (),
    )


# The dtype in a kernel's name, the narrower first: an FP8 product returns bfloat16.
_DTYPES = {
    "float8": re.compile(r"(?i)e4m3|e5m2|fp8|float8"),
    "int8": re.compile(r"(?i)int8|(?<![a-z])s8(?![0-9])"),
    "bfloat16": re.compile(r"(?i)bf16|bfloat16"),
    "float16": re.compile(r"(?i)fp16|float16|c10::Half|__half"),
}


def needs_of(trace: TraceFacts | None) -> dict[str, str]:
    """Return the GPU and the dtype of a profile, as `Needs` names them; empty where unknown.

    The dtype is the one that names of kernels with the most time contain.
    """
    if trace is None:
        return {}
    found: dict[str, str] = {}
    name = next((device.name for device in trace.devices if device.name), None)
    if name is not None:
        found["device"] = name
        known = peak(name)
        found |= {"architecture": known.architecture} if known else {}
    time: dict[str, float] = {}
    for kernel in trace.kernels:
        dtype = next((each for each, sign in _DTYPES.items() if sign.search(kernel.name)), None)
        if dtype is not None:
            time[dtype] = time.get(dtype, 0.0) + kernel.busy_ms
    if time:
        found["dtype"] = max(time, key=lambda dtype: time[dtype])
    return found
