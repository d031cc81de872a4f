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
        "At least four checks pass. We are ready to put a target into a contract, "
        "for a fixed fee in a fixed time.",
        "good",
    ),
    Audit.Outcome.REDIRECT: OutcomeText(
        "Cheaper interventions first",
        "Two or three checks pass. The same engineering effort brings more "
        "elsewhere, so we advise against a custom kernel now.",
        "doubt",
    ),
    Audit.Outcome.DECLINE: OutcomeText(
        "We decline custom kernel work",
        "Fewer than two checks pass. Nothing shows that a custom kernel would bring "
        "more than it costs, and we will not sell one.",
        "bad",
    ),
}

SUGGESTIONS: Final = (
    Suggestion(
        "Better batching",
        "Continuous batching is in vLLM, TensorRT-LLM and SGLang. A batch policy tuned to your "
        "own traffic often gives what kernel work would have given.",
    ),
    Suggestion(
        "Better scheduling",
        "Routing requests to where their KV cache already lies, prefix-aware scheduling, and "
        "prefill apart from decode.",
    ),
    Suggestion(
        "Better quantization",
        "FP16 to FP8 or INT8 is commonly 1.4 to 1.8 times faster with off-the-shelf tools, and "
        "nobody has to write or maintain a kernel.",
    ),
    Suggestion(
        "Better topology",
        "What connects tensor-parallel shards (NVLink, InfiniBand, RoCE) moves more than most "
        "kernels do.",
    ),
)
