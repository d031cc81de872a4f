"""What one gets off the shelf: torch's attention by its back ends, FlexAttention, FA4."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels.definition import NotAvailable
from kernels.solutions import Solution


def _nothing(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """The operator has no state."""


def _run_sdpa(prepared: None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    q, k, v = (inputs[name].transpose(1, 2) for name in ("q", "k", "v"))
    grouped = q.shape[1] != k.shape[1]
    attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
    out["out"].copy_(attended.transpose(1, 2))


def sdpa() -> Solution:
    """torch's scaled_dot_product_attention, whichever back end torch picks."""
    return Solution(name="sdpa", prepare=_nothing, run=_run_sdpa)


def sdpa_cudnn() -> Solution:
    """The same call with cuDNN's fused attention as the only back end."""
    if not torch.cuda.is_available():
        raise NotAvailable("cuDNN's attention needs a CUDA GPU")

    def run(prepared: None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            _run_sdpa(prepared, inputs, out)

    return Solution(name="sdpa_cudnn", prepare=_nothing, run=run)


@dataclass
class _Flex:
    block_mask: Any = None  # made on the first call, when the device is known


def _causal(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return query >= key


def _run_flex(
    attend: Callable[..., Any],
    make_mask: Callable[..., Any],
    prepared: _Flex,
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
) -> None:
    q, k, v = (inputs[name].transpose(1, 2) for name in ("q", "k", "v"))
    if prepared.block_mask is None:
        prepared.block_mask = make_mask(
            _causal, None, None, q.shape[2], k.shape[2], device=q.device
        )
    grouped = q.shape[1] != k.shape[1]
    attended = attend(q, k, v, block_mask=prepared.block_mask, enable_gqa=grouped)
    out["out"].copy_(attended.transpose(1, 2))


def flex_attention() -> Solution:
    """torch's FlexAttention through torch.compile; needs a C++ compiler on the processor."""
    try:
        from torch.nn.attention.flex_attention import create_block_mask
        from torch.nn.attention.flex_attention import flex_attention as flex
    except ImportError as error:
        raise NotAvailable(
            "FlexAttention needs torch 2.5 or later: pip install -U torch"
        ) from error
    if not torch.cuda.is_available() and not (shutil.which("g++") or shutil.which("clang++")):
        raise NotAvailable("FlexAttention on the processor needs a C++ compiler: install g++")
    compiled = torch.compile(flex, dynamic=False)
    return Solution(
        name="flex_attention",
        prepare=lambda state, axes: _Flex(),
        run=partial(_run_flex, compiled, create_block_mask),
    )


def flash_attention_4() -> Solution:
    """FlashAttention-4's forward kernel, written straight into the output."""
    if not torch.cuda.is_available():
        raise NotAvailable("FlashAttention-4 needs a CUDA GPU")
    if importlib.util.find_spec("flash_attn") is None:
        raise NotAvailable("FlashAttention-4 is not installed: pip install flash-attn-4")
    from flash_attn.cute.interface import _flash_attn_fwd

    def run(prepared: None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        # The public function allocates its output, which would cost a copy here.
        _flash_attn_fwd(inputs["q"], inputs["k"], inputs["v"], causal=True, out=out["out"])

    return Solution(name="flash_attention_4", prepare=_nothing, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "sdpa": sdpa,
    "sdpa_cudnn": sdpa_cudnn,
    "flex_attention": flex_attention,
    "flash_attention_4": flash_attention_4,
}
