"""The attention of a DeepSeek-V3 layer in decoding, with the operator in its slot.

The keys' and values' projections are absorbed into the queries and results. Left out, the same for
every solution: storing the new entry in the cache, and the layer's experts.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

ROPE_THETA = 10_000.0
NORM_EPS = 1e-6


class Step:
    """`x` [batch, hidden] through the attention to `y` [batch, hidden].

    Sequence b is at position last[b] + 1. A call synchronises with nothing and may be captured in
    a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run = solution.run
        self._prepared = solution.prepare({"cache": state["cache"]}, axes)
        self._w = {name: tensor for name, tensor in state.items() if name != "cache"}
        # The scores' scale is part of the queries' projection.
        scaled = state["w_query_up"] * axes["query_dim"] ** -0.5
        self._w_query_up = scaled.flatten(0, 1)
        self._nope, self._latent = axes["nope_dim"], axes["latent_dim"]
        like = state["w_entry"]
        self._rotations = _rotations(axes["context_len"] + 1, axes["rope_dim"], like)
        self._query = like.new_empty(axes["batch"], axes["heads"], axes["entry_dim"])
        self._new = like.new_empty(axes["batch"], axes["entry_dim"])
        self._attended = like.new_empty(axes["batch"], axes["heads"], axes["latent_dim"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        x, w = inputs["x"], self._w
        turn = self._rotations[:, inputs["last"] + 1]
        normed = F.rms_norm(x, x.shape[1:], w["norm"], NORM_EPS)
        self._queries(normed, turn)
        entry = F.linear(normed, w["w_entry"])
        latent, turning = entry[:, : self._latent], entry[:, self._latent :]
        self._new[:, : self._latent] = F.rms_norm(
            latent, latent.shape[1:], w["norm_entry"], NORM_EPS
        )
        self._new[:, self._latent :] = _rotated(turning, turn)
        token = {"q": self._query, "new": self._new}
        token |= {name: inputs[name] for name in ("page_table", "last")}
        self._run(self._prepared, token, {"out": self._attended})
        values = torch.bmm(self._attended.transpose(0, 1), w["w_value"].transpose(1, 2))
        values = values.transpose(0, 1).flatten(1)
        torch.addmm(x, values, w["w_out"].flatten(1).T, out=out["y"])

    def _queries(self, normed: Tensor, turn: Tensor) -> None:
        """Both parts of the queries, the first with the keys' projection absorbed."""
        w = self._w
        ranked = F.linear(normed, w["w_query_down"])
        ranked = F.rms_norm(ranked, ranked.shape[1:], w["norm_query"], NORM_EPS)
        query = F.linear(ranked, self._w_query_up)
        query = query.unflatten(1, (self._query.shape[1], -1))
        absorbed = torch.bmm(query[..., : self._nope].transpose(0, 1), w["w_key"])
        self._query[..., : self._latent] = absorbed.transpose(0, 1)
        self._query[..., self._latent :] = _rotated(query[..., self._nope :], turn.unsqueeze(2))


def _rotated(x: Tensor, turn: Tensor) -> Tensor:
    cos, sin = turn
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


def _rotations(positions: int, width: int, like: Tensor) -> Tensor:
    """Cosine and signed sine [2, positions, rope_dim] of the half-split rotary embedding."""
    half = width // 2
    steps = torch.arange(half, device=like.device, dtype=torch.float64)
    places = torch.arange(positions, device=like.device, dtype=torch.float64)
    angle = places[:, None] * ROPE_THETA ** (-steps / half)
    cos = torch.cat([angle.cos(), angle.cos()], -1)
    sin = torch.cat([-angle.sin(), angle.sin()], -1)
    return torch.stack([cos, sin]).to(like.dtype)
