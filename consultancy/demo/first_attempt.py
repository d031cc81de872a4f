"""The first attempt of the demonstration's consultancy, which misses its target.

It attends to the whole cache of every sequence, as the baseline does, so that it is no faster.
Kept as text: the web tier imports no torch.
"""

NAME = "first_attempt"
SOURCE = '''\
"""Decode attention with one cache for each sequence, the shared prompt included."""

import torch
import torch.nn.functional as F


def prepare(state, axes):
    """Copy prompt and own tokens into one cache with a free slot for the new token."""

    def joined(prefix, own):
        slots = axes["prefix_len"] + axes["own_len"] + 1
        cache = own.new_empty(axes["batch"], axes["kv_heads"], slots, axes["head_dim"])
        cache[:, :, : axes["prefix_len"]] = prefix
        cache[:, :, axes["prefix_len"] : -1] = own
        return cache

    return {
        "k": joined(state["prefix_k"], state["own_k"]),
        "v": joined(state["prefix_v"], state["own_v"]),
    }


def run(prepared, inputs, out):
    """One decode token for each sequence."""
    k, v, q = prepared["k"], prepared["v"], inputs["q"]
    k[:, :, -1] = inputs["k_new"]
    v[:, :, -1] = inputs["v_new"]
    batch, heads, width = q.shape
    kv_heads = k.shape[1]
    if q.device.type == "cpu":
        rows, grouped = q.view(batch, kv_heads, heads // kv_heads, width), False
    else:
        rows, grouped = q.unsqueeze(2), heads != kv_heads
    attended = F.scaled_dot_product_attention(rows, k, v, enable_gqa=grouped)
    out["out"].view(rows.shape).copy_(attended)
'''
