"""Texts for the customer: the outcomes of an audit, and alternatives to a custom kernel."""

from __future__ import annotations

from typing import Final, NamedTuple

from engagements.audit.models import Audit


class OutcomeText(NamedTuple):
    """An outcome in words, with its consequence."""

    headline: str
    meaning: str
    tone: str


class Suggestion(NamedTuple):
    """An alternative that is cheaper and often gains more."""

    title: str
    text: str


OUTCOME_TEXTS: Final = {
    Audit.Outcome.CUSTOM: OutcomeText(
        "Custom kernel work may be right",
        "At least four checks pass. We can offer a contract with a target, for a fixed fee in a "
        "fixed time.",
        "good",
    ),
    Audit.Outcome.REDIRECT: OutcomeText(
        "Cheaper interventions first",
        "Two or three checks pass. The same engineering effort gains more elsewhere, so we advise "
        "against a custom kernel now.",
        "doubt",
    ),
    Audit.Outcome.DECLINE: OutcomeText(
        "We decline custom kernel work",
        "Fewer than two checks pass. There is no evidence that a custom kernel would gain more "
        "than it costs, so we do not offer one.",
        "bad",
    ),
}

SUGGESTIONS: Final = (
    Suggestion(
        "Better batching",
        "Continuous batching is in vLLM, TensorRT-LLM and SGLang. A batch policy tuned to your "
        "traffic often gains as much as kernel work.",
    ),
    Suggestion(
        "Better scheduling",
        "Route requests to the replica that has their KV cache, schedule by prefix, and separate "
        "prefill from decode.",
    ),
    Suggestion(
        "Better quantization",
        "FP16 to FP8 or INT8 is commonly 1.4 to 1.8 times faster with off-the-shelf tools, without "
        "a kernel to write or maintain.",
    ),
    Suggestion(
        "Better topology",
        "The interconnect of tensor-parallel shards (NVLink, InfiniBand, RoCE) affects speed more "
        "than most kernels.",
    ),
)
