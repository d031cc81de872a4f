"""What the audit's outcome means to a customer, and what to do instead of a custom kernel."""

from __future__ import annotations

from typing import Final, NamedTuple

from engagements.audit.models import Audit


class Said(NamedTuple):
    """An outcome in words: what stands in the panel, and what follows from it."""

    headline: str
    meaning: str
    tone: str


class Suggestion(NamedTuple):
    """Something cheaper that often brings more than a custom kernel."""

    title: str
    text: str


SAID: Final = {
    Audit.Outcome.CUSTOM: Said(
        "Custom kernel work may be right",
        "At least four of the six checks pass. We are ready to put a target into a contract, "
        "for a fixed fee in a fixed time.",
        "good",
    ),
    Audit.Outcome.REDIRECT: Said(
        "Cheaper interventions first",
        "Two or three of the six checks pass. The same engineering effort brings more "
        "elsewhere, so we advise against a custom kernel now.",
        "doubt",
    ),
    Audit.Outcome.DECLINE: Said(
        "We decline custom kernel work",
        "Fewer than two of the six checks pass. Nothing shows that a custom kernel would bring "
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
