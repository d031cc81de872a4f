"""The source's three good and three bad cases, entered as audits.

What the source says of a case is in the case, each fact beside its sentence. Where it is silent
all six get the same ordinary answers: traffic in two shapes, a team with ten hours a month, no
other model planned, six weeks of work for 60,000, a GPU bill of 40,000 a month.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from engagements.audit.rules import Advice, AuditInputs, Needs, Operator, Tried, Verdict
from engagements.audit.rules.verdict import examine
from engagements.evidence.readers.questions import Generation, Generations
from tests.engagements.audit.inputs import (
    LLAMA_32K,
    answered,
    bill,
    inputs,
    measured,
    ratio,
    roadmap,
    seen,
    stated,
    step,
    team,
    traffic,
    work,
)
from tests.engagements.evidence.traces import captured

TWO_SHAPES = traffic((8, 4096, 40.0), (16, 4096, 70.0), times=1000)
DECODE = "h200_llama_decode_32k_prefix.trace.json.gz"


def busy(kernel: str, share: float) -> Any:
    """A step that spends `share` of its time in `kernel`."""
    length = 1000.0 * share
    return seen(step((kernel, 0.0, length), ("cublas_gemm", length, 1000.0 - length)))


def ordinary(**said: Any) -> AuditInputs:
    """A case with what the source says, and the ordinary answers to everything else."""
    usual = {
        "traffic": seen(TWO_SHAPES),
        "maintainers": team(10),
        "roadmap": roadmap(),
        "work": work(6, 60_000),
        "gpu_bill": bill(40_000),
    }
    return inputs(**usual | said)


@dataclass(frozen=True)
class SourceCase:
    """A case as the source tells it: does it pass, and which checks say why it does not."""

    name: str
    inputs: AuditInputs
    is_good: bool
    reasons: dict[str, str] = field(default_factory=dict)


GOOD = (
    SourceCase(
        "sparse MoE routing",
        ordinary(
            # "a 2.3x MoE-step speedup and a 1.4x end-to-end speedup": half of the time, by Amdahl.
            trace=busy("fused_moe_kernel", 0.5055),
            operator=Operator(kind="family", name="mixture of experts"),
            end_to_end=seen(ratio(1.4)),
            # "kernels for MoE routing assume a uniform distribution of routing decisions"
            tried=(answered(Tried(library="The vendor's kernels", lacks=("skewed routing",))),),
        ),
        is_good=True,
        reasons={"off_the_shelf": "lacks skewed routing"},
    ),
    SourceCase(
        "KV cache layout for long context",
        ordinary(
            # "long-context (32K+)": the capture of exactly that step.
            trace=seen(captured(DECODE)),
            needs=answered(LLAMA_32K),
            # "a paged-attention kernel that exploited the sharing pattern"
            tried=tuple(
                answered(Tried(library=library, lacks=("one read of the shared prompt",)))
                for library in ("vLLM paged attention", "FlashInfer")
            ),
            end_to_end=seen(ratio(2.8)),
        ),
        is_good=True,
        reasons={"worth": "2.8×", "off_the_shelf": "one read of the shared prompt"},
    ),
    SourceCase(
        "quantisation-aware fused ops",
        ordinary(
            trace=busy("int8_gemm", 0.6),
            # "Available in TensorRT-LLM but not at the time on the customer's preferred runtime."
            tried=(answered(Tried(library="TensorRT-LLM", lacks=("the customer's runtime",))),),
            # "~6 weeks. End-to-end speedup: 1.9x."
            end_to_end=seen(ratio(1.9)),
            work=work(6, 60_000),
        ),
        is_good=True,
        reasons={"off_the_shelf": "the customer's runtime"},
    ),
)

BAD = (
    SourceCase(
        "windowed attention with skips",
        ordinary(
            trace=busy("flash_fwd_kernel", 0.2),
            operator=Operator(kind="family", name="attention"),
            # "the end-to-end speedup over FlashAttention-4 was 1.08x"
            end_to_end=seen(ratio(1.08)),
            tried=(
                answered(
                    Tried(library="FlashAttention-4", lacks=("the skips",), ratio=ratio(1.08))
                ),
            ),
            # "Six weeks of work for an 8% gain on a single product surface": a part of the bill.
            work=work(6, 60_000),
            gpu_bill=bill(10_000),
        ),
        is_good=False,
        reasons={
            "worth": "1.08× was measured, less than the required 2×",
            "survives": "6 weeks of work",
            "off_the_shelf": "FlashAttention-4 is enough",
        },
    ),
    SourceCase(
        "fused FFN for a model that goes",
        ordinary(
            # "~1.5x speedup that would last 8 weeks before becoming irrelevant"
            trace=busy("fused_ffn_gemm", 0.6),
            operator=Operator(kind="pattern", name="FFN", pattern="fused_ffn"),
            end_to_end=stated(ratio(1.5)),
            # "migrating from a custom in-house architecture to Llama-3.3 within the next quarter"
            roadmap=roadmap(("Llama-3.3", 14, {"hidden": 8192, "ffn": 28672})),
            tried=(answered(Tried(library="Every library", lacks=("the in-house layer",))),),
            # The team of the in-house model goes with it.
            maintainers=team(0),
        ),
        is_good=False,
        reasons={
            "survives": "6 weeks of work for 8 weeks of use before Llama-3.3",
            "worth": "1.5×",
        },
    ),
    SourceCase(
        "a faster FlashAttention",
        ordinary(
            trace=busy("flash_fwd_kernel", 0.5),
            needs=answered(
                Needs(definition="flash_attention", dtype="bfloat16", architecture="sm90")
            ),
            operator=Operator(kind="family", name="attention"),
            # "hand-tuned that kernel against every modern GPU architecture"
            compute=(seen(measured(tensor_share=0.82, bound="compute", signature="tuned")),),
            generations=answered(
                Generations(
                    generations=tuple(Generation(name=n) for n in ("A100", "H100", "H200", "B200"))
                )
            ),
        ),
        is_good=False,
        reasons={
            "off_the_shelf": "covers your case: use it",
            "worth": "only another algorithm could gain more",
        },
    ),
)


def sentences(verdict: Verdict) -> dict[str, str]:
    return {finding.check: finding.sentence for finding in verdict.findings}


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_a_case_that_was_worth_it_passes_at_least_four(case: SourceCase) -> None:
    verdict = examine(case.inputs)
    assert verdict.passes >= 4
    assert verdict.advice == Advice.CUSTOM
    outcomes = {finding.check: finding.outcome for finding in verdict.findings}
    for check, words in case.reasons.items():
        assert outcomes[check] == "pass"
        assert words in sentences(verdict)[check]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_case_that_was_not_passes_fewer_for_the_source_s_reason(case: SourceCase) -> None:
    verdict = examine(case.inputs)
    assert verdict.passes < 4
    assert verdict.advice != Advice.CUSTOM
    outcomes = {finding.check: finding.outcome for finding in verdict.findings}
    for check, words in case.reasons.items():
        assert outcomes[check] == "fail"
        assert words in sentences(verdict)[check]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_it_is_the_reason_that_decides_and_not_silence(case: SourceCase) -> None:
    verdict = examine(case.inputs)
    assert not [finding for finding in verdict.findings if finding.outcome == "unknown"]
