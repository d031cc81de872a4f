"""What one gets off the shelf: torch eager and compiled, FlashInfer, Liger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution

_Tables = tuple[Tensor, Tensor]  # cosine and sine, each [seq_len, 1, head_dim]


def _widened(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Tables:
    """Hugging Face's layout: a table as wide as a head, both halves alike."""

    def wide(table: Tensor) -> Tensor:
        return torch.cat([table, table], -1)[:, None]

    return wide(state["cos"]), wide(state["sin"])


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def rotate_half() -> Solution:
    """Hugging Face's formula, eager: the products are float32, as the tables are."""

    def run(prepared: _Tables, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        out["q_turned"].copy_(_turned(inputs["q"], *prepared))
        out["k_turned"].copy_(_turned(inputs["k"], *prepared))

    return Solution(name="rotate_half", prepare=_widened, run=run)


def compiled() -> Solution:
    """The same formula as torch.compile makes it: on a GPU a Triton kernel."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")

    @torch.compile(dynamic=False)
    def turn(
        q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, q_turned: Tensor, k_turned: Tensor
    ) -> None:
        q_turned.copy_(_turned(q, cos, sin))
        k_turned.copy_(_turned(k, cos, sin))

    def run(prepared: _Tables, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        turn(inputs["q"], inputs["k"], *prepared, out["q_turned"], out["k_turned"])

    return Solution(name="compiled", prepare=_widened, run=run)


def flashinfer() -> Solution:
    """FlashInfer's kernel with tables, which is compiled by its first call.

    Called below `apply_rope_with_cos_sin_cache`, which would allocate its results: this writes
    them where they belong.
    """
    try:
        from flashinfer.rope import _apply_rope_pos_ids_cos_sin_cache as apply
    except ImportError as error:
        raise NotAvailable("flashinfer needs FlashInfer: pip install flashinfer-python") from error
    if not torch.cuda.is_available():
        raise NotAvailable("flashinfer needs a CUDA GPU")

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> tuple[Tensor, Tensor]:
        tables = torch.cat([state["cos"], state["sin"]], -1)
        positions = torch.arange(axes["seq_len"], dtype=torch.int32, device=tables.device)
        return tables, positions.repeat(axes["batch"])

    def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        tables, positions = prepared
        apply(
            q=inputs["q"].flatten(0, 1),
            k=inputs["k"].flatten(0, 1),
            q_rope=out["q_turned"].flatten(0, 1),
            k_rope=out["k_turned"].flatten(0, 1),
            cos_sin_cache=tables,
            pos_ids=positions,
            interleave=False,
        )

    return Solution(name="flashinfer", prepare=prepare, run=run)


def liger() -> Solution:
    """Liger's Triton kernel. It turns in place, so the inputs are copied to the outputs first."""
    try:
        from liger_kernel.ops.rope import rope_forward
    except ImportError as error:
        raise NotAvailable("liger needs Liger-Kernel: pip install liger-kernel") from error
    if not torch.cuda.is_available():
        raise NotAvailable("liger needs a CUDA GPU")

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> tuple[Tensor, ...]:
        return tuple(torch.cat([state[name]] * 2, -1)[None] for name in ("cos", "sin"))

    def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        out["q_turned"].copy_(inputs["q"])
        out["k_turned"].copy_(inputs["k"])
        # It wants heads before the sequence, and turns them back without a copy.
        rope_forward(out["q_turned"].transpose(1, 2), out["k_turned"].transpose(1, 2), *prepared)

    return Solution(name="liger", prepare=prepare, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "rotate_half": rotate_half,
    "compiled": compiled,
    "flashinfer": flashinfer,
    "liger": liger,
}
