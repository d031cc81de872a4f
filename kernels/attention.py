"""Self-attention of documents as plain data: tensors, special values, cost. No torch here.

`document` are the axes of a batch of documents, such as ("batch", "seq_len").
"""

from __future__ import annotations

from kernels.definition import ITEM_BYTES, Axes, Contents, SpecialValues, TensorSpec


def inputs(*document: str, scale: float) -> tuple[TensorSpec, ...]:
    """Queries, keys and values; queries and keys have the standard deviation `scale`."""
    heads, kv_heads = (*document, "heads", "head_dim"), (*document, "kv_heads", "head_dim")
    return (
        TensorSpec(name="q", shape=heads, scale=scale),
        TensorSpec(name="k", shape=kv_heads, scale=scale),
        TensorSpec(name="v", shape=kv_heads),
    )


def output(*document: str) -> TensorSpec:
    """The operator's result, one vector a query and head."""
    return TensorSpec(name="out", shape=(*document, "heads", "head_dim"))


def hidden_state(name: str, *document: str) -> tuple[TensorSpec]:
    """The Program's input or output: one hidden state a token."""
    return (TensorSpec(name=name, shape=(*document, "hidden")),)


SPECIAL_VALUES = (
    # exp() of such scores overflows unless the row's maximum is subtracted first.
    SpecialValues(name="large scores", contents={"k": Contents(scale=24.0)}, gain=4.0),
    SpecialValues(name="queries of zeros", contents={"q": Contents(scale=0.0)}),
    # One query's NaN must appear in its own row and nowhere else.
    SpecialValues(name="a NaN in a query", contents={"q": Contents(plant="nan")}),
)


def flops(axes: Axes, pairs: int) -> int:
    """Multiply-adds, counted as two, of scores and weighted values over `pairs` a head."""
    return 4 * axes["batch"] * axes["heads"] * axes["head_dim"] * pairs


def bytes_moved(axes: Axes, dtype: str, *, tokens: int) -> int:
    """Minimum traffic of one call: queries, keys, values and the output once a token."""
    heads = 2 * axes["heads"] + 2 * axes["kv_heads"]
    return tokens * heads * axes["head_dim"] * ITEM_BYTES[dtype]
