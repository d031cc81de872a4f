"""What one gets off the shelf for a mixture of experts."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.moe_routing.choice import Router
from kernels.solutions import Solution


@dataclass(frozen=True)
class _Layer:
    router: Router
    gate_up: Tensor  # [experts, 2 * inner, hidden]
    down: Tensor  # [experts, hidden, inner]


def _prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Layer:
    return _Layer(
        router=Router.of(axes, state["w_down"].device),
        gate_up=state["w_gate_up"].flatten(1, 2),
        down=state["w_down"],
    )


def _swiglu(gate_up: Tensor) -> Tensor:
    gate, up = gate_up.chunk(2, -1)
    return F.silu(gate).mul_(up)


def _together(share: Tensor, given: Tensor) -> Tensor:
    """What each token's experts gave [tokens, top_k, hidden], weighed: [tokens, hidden]."""
    return torch.bmm(share.to(given.dtype).unsqueeze(1), given).squeeze(1)


def _run_padded(layer: _Layer, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Experts padded to the largest load; while a graph is captured nobody may look how large.

    Then there is no capacity below `tokens` at which no token would be dropped.
    """
    x = inputs["x"]
    share, chosen = layer.router.choose(inputs["router_logits"])
    order, begins = layer.router.sort(chosen)
    expert = chosen.flatten()[order]
    place = torch.arange(len(order), device=x.device) - begins[expert]
    capturing = x.is_cuda and torch.cuda.is_current_stream_capturing()
    capacity = x.shape[0] if capturing else int(place.max()) + 1
    slot = expert * capacity + place
    # What stands in rows that nobody was put into is never read.
    packed = x.new_empty(len(layer.down) * capacity, x.shape[1])
    packed[slot] = x[order // chosen.shape[1]]
    inner = _swiglu(torch.bmm(packed.view(len(layer.down), capacity, -1), layer.gate_up.mT))
    given = torch.bmm(inner, layer.down.mT).flatten(0, 1)
    where = torch.empty_like(slot)
    where[order] = slot
    out["out"].copy_(_together(share, given[where].view(*chosen.shape, -1)))


def padded() -> Solution:
    """A batched matmul over experts of equal capacity."""
    return Solution(name="padded", prepare=_prepare, run=_run_padded)


def _run_loop(layer: _Layer, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    x = inputs["x"]
    if x.is_cuda and torch.cuda.is_current_stream_capturing():
        raise NotAvailable("the loop reads every expert's load on the host: no CUDA graph")
    share, chosen = layer.router.choose(inputs["router_logits"])
    out["out"].zero_()
    for expert, (gate_up, down) in enumerate(zip(layer.gate_up, layer.down, strict=True)):
        token, place = torch.where(chosen == expert)
        given = F.linear(_swiglu(F.linear(x[token], gate_up)), down)
        weighed = given * share[token, place, None].to(given.dtype)
        out["out"].index_add_(0, token, weighed)


def loop() -> Solution:
    """Expert by expert, as transformers' models are written; cannot be captured in a graph."""
    return Solution(name="loop", prepare=_prepare, run=_run_loop)


def _grouped(layer: _Layer, x: Tensor, logits: Tensor) -> Tensor:
    share, chosen = layer.router.choose(logits)
    order, begins = layer.router.sort(chosen)
    ends = begins[1:].to(torch.int32)
    inner = _swiglu(torch._grouped_mm(x[order // chosen.shape[1]], layer.gate_up.mT, offs=ends))
    given = torch._grouped_mm(inner, layer.down.mT, offs=ends)
    where = torch.empty_like(order)
    where[order] = torch.arange(len(order), device=x.device)
    return _together(share, given[where].view(*chosen.shape, -1))


def grouped_mm() -> Solution:
    """Tokens sorted by expert on the device, then torch's grouped matmul twice."""
    _need_grouped_mm()

    def run(layer: _Layer, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        out["out"].copy_(_grouped(layer, inputs["x"], inputs["router_logits"]))

    return Solution(name="grouped_mm", prepare=_prepare, run=run)


def compiled_grouped_mm() -> Solution:
    """The same with what stands around the matmuls fused by torch.compile."""
    _need_grouped_mm()
    if not torch.cuda.is_available():
        raise NotAvailable("compiled_grouped_mm is for CUDA GPUs; on the processor use grouped_mm")
    compiled: Callable[..., Any] = torch.compile(_grouped, dynamic=False)

    def run(layer: _Layer, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        out["out"].copy_(compiled(layer, inputs["x"], inputs["router_logits"]))

    return Solution(name="compiled_grouped_mm", prepare=_prepare, run=run)


def _need_grouped_mm() -> None:
    if not hasattr(torch, "_grouped_mm"):
        raise NotAvailable("grouped_mm needs torch 2.9 or later: pip install -U torch")


def flashinfer_cutlass() -> Solution:
    """FlashInfer's fused MoE on CUTLASS; the router is torch's.

    Only with its kernels prebuilt: building them took longer than four minutes on 64 cores.
    """
    try:
        from flashinfer.fused_moe import cutlass_fused_moe
    except ImportError as error:
        raise NotAvailable(
            "flashinfer_cutlass needs FlashInfer: pip install flashinfer-python"
        ) from error
    if not torch.cuda.is_available():
        raise NotAvailable("flashinfer_cutlass needs a CUDA GPU")
    if importlib.util.find_spec("flashinfer_jit_cache") is None:
        raise NotAvailable(
            "flashinfer_cutlass needs FlashInfer's prebuilt kernels: "
            "pip install flashinfer-jit-cache"
        )

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Layer:
        # It wants the up projection's rows before the gate's.
        up_first = state["w_gate_up"].flip(1)
        return _prepare({**state, "w_gate_up": up_first}, axes)

    def run(layer: _Layer, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        share, chosen = layer.router.choose(inputs["router_logits"])
        result = out["out"]
        x = inputs["x"].contiguous()
        given = cutlass_fused_moe(
            x, chosen.int(), share, layer.gate_up, layer.down, result.dtype, quant_scales=[]
        )
        result.copy_(given[0] if isinstance(given, list | tuple) else given)

    return Solution(name="flashinfer_cutlass", prepare=prepare, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "padded": padded,
    "loop": loop,
    "grouped_mm": grouped_mm,
    "compiled_grouped_mm": compiled_grouped_mm,
    "flashinfer_cutlass": flashinfer_cutlass,
}
