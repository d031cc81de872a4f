"""Which operator to look at: the trace's own families, ranges and modules, the hottest first."""

from __future__ import annotations

from dataclasses import dataclass

from engagements.audit.rules.inputs import Operator
from engagements.evidence.readers import families
from engagements.evidence.readers.facts import GroupTime, TraceFacts

# What moves or waits for data is nobody's operator; a kernel does not replace it.
NO_OPERATORS = (families.COPY, families.MEMSET, families.COMMUNICATION, families.OTHER)
# A range around nearly everything is the step, not an operator in it.
STEP_SHARE = 0.95
LISTED = 12

# Which of the catalogue's operators a family most likely is; a person says which it is.
DEFINITIONS = {
    "attention": ("flash_attention", "shared_prefix_attention", "windowed_skip_attention"),
    "mixture of experts": ("moe_routing",),
    "quantisation": ("int8_quantize", "residual_norm_quantize", "int8_linear", "int4_linear"),
    "matrix product": ("fused_linear_relu", "fused_ffn", "int8_linear", "int4_linear"),
    "normalisation": ("residual_norm_quantize",),
    "rotary embedding": ("rotary_embedding",),
    "embedding and gather": ("embedding_lookup",),
}


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """An operator with its shares of wall-clock and of GPU time.

    `definitions` are the operators of the catalogue that it may be, likeliest first.
    """

    operator: Operator
    share_of_wall: float
    share_of_gpu: float
    calls: int
    definitions: tuple[str, ...]


def suggest(trace: TraceFacts) -> tuple[Suggestion, ...]:
    """Operators of the trace, the hottest family first, then what ranges and modules name."""
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
