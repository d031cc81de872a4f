"""Llama-shaped layers as plain data: their axes, weights and sizes. No torch here.

Sizes are those of Llama-3-8B and Llama-3.2-1B (Grattafiori et al., The Llama 3 Herd of Models,
2024, table 3, and the models' published configurations).
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.definition import TensorSpec

AXES = {
    "layers": "layers of the step",
    "heads": "query heads",
    "kv_heads": "key and value heads",
    "qkv_heads": "heads + 2 kv_heads",
    "head_dim": "width of a head",
    "hidden": "width of the hidden state",
    "ffn": "inner width of the MLP",
}

LLAMA_8B = {"heads": 32, "kv_heads": 8, "head_dim": 128, "hidden": 4096, "ffn": 14336}
LLAMA_1B = {"heads": 32, "kv_heads": 8, "head_dim": 64, "hidden": 2048, "ffn": 8192}


def sized(model: Mapping[str, int], *, layers: int, **more: int) -> dict[str, int]:
    """The axes of `layers` layers of a model, plus `more` and the derived qkv_heads."""
    return {
        **more,
        "layers": layers,
        **model,
        "qkv_heads": model["heads"] + 2 * model["kv_heads"],
    }


def weights(*, qkv_scale: float = 1.0) -> tuple[TensorSpec, ...]:
    """Weights of every layer. Queries, keys and values have the standard deviation `qkv_scale`."""
    return (*attention_weights(qkv_scale=qkv_scale), *_mlp_weights())


def attention_weights(*, qkv_scale: float = 1.0) -> tuple[TensorSpec, ...]:
    """The attention's half of a layer: norm, joint projection, output projection."""
    return (
        TensorSpec(name="norm_attention", shape=("layers", "hidden"), distribution="ones"),
        TensorSpec(
            name="w_qkv",
            shape=("layers", "qkv_heads", "head_dim", "hidden"),
            scale=qkv_scale,
            fan_in=("hidden",),
        ),
        TensorSpec(
            name="w_out",
            shape=("layers", "hidden", "heads", "head_dim"),
            fan_in=("heads", "head_dim"),
        ),
    )


def _mlp_weights() -> tuple[TensorSpec, ...]:
    return (
        TensorSpec(name="norm_mlp", shape=("layers", "hidden"), distribution="ones"),
        TensorSpec(name="w_gate_up", shape=("layers", 2, "ffn", "hidden"), fan_in=("hidden",)),
        TensorSpec(name="w_down", shape=("layers", "hidden", "ffn"), fan_in=("ffn",)),
    )
