"""The catalogue's attention in models of Hugging Face's transformers.

    from kernels import transformers_attention

    name = transformers_attention.register("triton_flash")
    model = AutoModelForCausalLM.from_pretrained(..., attn_implementation=name)

It takes over where a layer attends causally over whole prompts, which is what the operator
computes: prefill and training without padding. All else (padding, windows, dropout, decoding from a
cache, a scale of the model's own) goes to transformers' own SDPA, layer by layer, so that a model
answers as before whatever it is asked.

Through the library's own doors, `AttentionInterface` and `AttentionMaskInterface`: nothing is
patched. https://huggingface.co/docs/transformers/attention_interface
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kernels import registration, solutions
from kernels.definition import NotAvailable

OPERATOR = "flash_attention"

Attend = Callable[..., tuple[Tensor, Tensor | None]]


def register(solution: str) -> str:
    """Make a candidate of flash_attention known to transformers; its `attn_implementation`.

    NotAvailable without transformers; CatalogueError and SolutionError as the catalogue has them.
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.integrations.sdpa_attention import sdpa_attention_forward
        from transformers.masking_utils import sdpa_mask
    except ImportError as error:
        raise NotAvailable(
            "attention in transformers needs it: pip install transformers"
        ) from error
    name = f"{registration.NAMESPACE}_{solution}"
    has_gradients = solutions.candidate(f"{OPERATOR}/{solution}").gradients is not None
    operator = registration.register(OPERATOR, solution)
    AttentionInterface.register(
        name, _attend_by(operator, sdpa_attention_forward, has_gradients=has_gradients)
    )
    # SDPA's mask is none where a layer is causal over whole prompts.
    AttentionMaskInterface.register(name, sdpa_mask)
    return name


def _attend_by(
    operator: registration.CustomOperator, otherwise: Attend, *, has_gradients: bool
) -> Attend:
    def attend(
        module: torch.nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **asked: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """All [batch, heads, seq_len, head_dim]; gives [batch, seq_len, heads, head_dim]."""
        tensors = (query, key, value)
        wants_gradients = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
        fits = (
            attention_mask is None
            and _is_causal(module, asked)
            and _is_over_whole_prompts(*tensors)
            and _is_plain(query, asked)
            and (has_gradients or not wants_gradients)
        )
        if not fits:
            return otherwise(module, query, key, value, attention_mask, **asked)
        return operator(*(one.transpose(1, 2) for one in tensors)), None

    return attend


def _is_causal(module: torch.nn.Module, asked: dict[str, Any]) -> bool:
    said = asked.get("is_causal")
    return bool(getattr(module, "is_causal", True) if said is None else said)


def _is_over_whole_prompts(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """More than one token, none of them from a cache; heads of one width."""
    return 1 < query.shape[2] == key.shape[2] and query.shape[3] == key.shape[3] == value.shape[3]


def _is_plain(query: Tensor, asked: dict[str, Any]) -> bool:
    """Scores are scaled as usual, and nothing is added to them or left out of them by chance."""
    scale = query.shape[3] ** -0.5
    own = asked.get("scaling")
    return (
        (own is None or math.isclose(own, scale, rel_tol=1e-6))
        and not asked.get("dropout")
        and all(
            asked.get(extra) is None for extra in ("position_bias", "softcap", "cache", "s_aux")
        )
    )
