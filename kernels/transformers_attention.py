"""The catalogue's attention in models of Hugging Face's transformers.

    from kernels import transformers_attention

    name = transformers_attention.register("triton_flash")
    model = AutoModelForCausalLM.from_pretrained(..., attn_implementation=name)

It computes causal attention over whole prompts: prefill and training without padding. Layers with
padding, windows, dropout, decoding from a cache or a scale of their own use transformers' SDPA as
before.

It uses the library's `AttentionInterface` and `AttentionMaskInterface` and patches nothing:
https://huggingface.co/docs/transformers/attention_interface
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
    """Register a candidate of flash_attention; returns its `attn_implementation`.

    NotAvailable without transformers; CatalogueError or SolutionError for an unknown candidate.
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.integrations.sdpa_attention import sdpa_attention_forward
        from transformers.masking_utils import sdpa_mask
    except ImportError as error:
        raise NotAvailable("transformers is not installed: pip install transformers") from error
    name = f"{registration.NAMESPACE}_{solution}"
    has_gradients = solutions.candidate(f"{OPERATOR}/{solution}").gradients is not None
    operator = registration.register(OPERATOR, solution)
    AttentionInterface.register(
        name, _attend_by(operator, sdpa_attention_forward, has_gradients=has_gradients)
    )
    # SDPA's mask is None for causal layers over whole prompts.
    AttentionMaskInterface.register(name, sdpa_mask)
    return name


def _attend_by(
    operator: registration.CustomOperator, fallback: Attend, *, has_gradients: bool
) -> Attend:
    def attend(
        module: torch.nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Inputs are [batch, heads, seq_len, head_dim], the result [batch, seq_len, heads, …]."""
        tensors = (query, key, value)
        wants_gradients = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
        fits = (
            attention_mask is None
            and _is_causal(module, options)
            and _is_over_whole_prompts(*tensors)
            and _is_plain(query, options)
            and (has_gradients or not wants_gradients)
        )
        if not fits:
            return fallback(module, query, key, value, attention_mask, **options)
        return operator(*(one.transpose(1, 2) for one in tensors)), None

    return attend


def _is_causal(module: torch.nn.Module, options: dict[str, Any]) -> bool:
    is_causal = options.get("is_causal")
    return bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)


def _is_over_whole_prompts(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """More than one token, none from a cache, and heads of one width."""
    return 1 < query.shape[2] == key.shape[2] and query.shape[3] == key.shape[3] == value.shape[3]


def _is_plain(query: Tensor, options: dict[str, Any]) -> bool:
    """The usual scale, and no bias, cap, sink or dropout on the scores."""
    scale = query.shape[3] ** -0.5
    scaling = options.get("scaling")
    return (
        (scaling is None or math.isclose(scaling, scale, rel_tol=1e-6))
        and not options.get("dropout")
        and all(
            options.get(extra) is None for extra in ("position_bias", "softcap", "cache", "s_aux")
        )
    )
