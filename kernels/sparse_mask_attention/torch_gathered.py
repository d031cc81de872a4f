"""Each block of queries over the blocks it sees, gathered, by torch's own attention.

No masked pair is computed but those inside the query's own block. One call for every block: few
and large on a processor, too many for a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.sparse_mask_attention.reference import allowed


@dataclass(frozen=True)
class _Prepared:
    seen: list[Tensor]  # for each block of queries the blocks of keys it sees, its own last
    masks: list[Tensor]  # and which of their tokens, [block, len(seen) * block]


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """Read the mask: block by block, which keys are to be gathered."""
    block, seen = axes["block"], [row.nonzero().flatten() for row in allowed(state["keep"], axes)]
    device = state["keep"].device
    masks = []
    for keys in seen:
        mask = torch.ones(block, len(keys) * block, dtype=torch.bool, device=device)
        mask[:, -block:].tril_()
        masks.append(mask)
    return _Prepared(seen=seen, masks=masks)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Attend over whole documents; writes all of out["out"], shaped as q."""
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    for place, (keys, mask) in enumerate(zip(prepared.seen, prepared.masks, strict=True)):
        near, values = (x.index_select(1, keys).flatten(1, 2).transpose(1, 2) for x in (k, v))
        attended = F.scaled_dot_product_attention(
            q[:, place].transpose(1, 2),
            near,
            values,
            attn_mask=mask,
            enable_gqa=q.shape[3] != k.shape[3],
        )
        out["out"][:, place].copy_(attended.transpose(1, 2))
