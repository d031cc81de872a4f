"""Model families as plain data: the operators of a layer in decoding, with their cost. No torch.

    families.uses("Llama 3 8B")          # every operator at every batch and context
    families.of_operator("mla_decode")   # the uses of one operator, in all families

Floors are of one H200: bytes at the bandwidth of a plain copy, operations at the rate of a large
product in bfloat16. Weights and activations have 16 bits unless the operator itself says otherwise.
Sizes are those of the models' published configurations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kernels import catalogue, llama
from kernels.definition import ITEM_BYTES, Axes

# As measured on an H200 of this project: bytes and operations of a second.
BANDWIDTH, PRODUCTS = 4.3e12, 790e12
# Below it a call is a launch, whatever the kernel does.
LAUNCH_US = 3.0
BATCHES, CONTEXTS = (1, 16, 128), (2048, 32768, 131072)
PAGE, GROUP = 64, 128
# Logits that a request may sample from, at most.
MOST_K = 64
DTYPE = "bfloat16"


@dataclass(frozen=True, kw_only=True)
class Use:
    """One operator of a layer at one batch and context (None: it does not depend on it).

    `operator` is a name of the catalogue, or "" for matrix products that it has no operator for.
    `features` are what a library needs for it (`coverage.FEATURES`).
    """

    family: str
    part: str
    operator: str
    batch: int
    context: int | None
    bytes_moved: int
    flops: int
    features: tuple[str, ...] = ()

    @property
    def floor_us(self) -> float:
        """The least time of a call on one H200, in microseconds."""
        return 1e6 * max(self.bytes_moved / BANDWIDTH, self.flops / PRODUCTS)

    @property
    def is_bound_by_bytes(self) -> bool:
        """Whether memory limits it rather than the tensor cores."""
        return self.bytes_moved / BANDWIDTH >= self.flops / PRODUCTS

    @property
    def is_a_launch(self) -> bool:
        """Whether the floor is below what launching a kernel takes."""
        return self.floor_us < LAUNCH_US


@dataclass(frozen=True, kw_only=True)
class Family:
    """A model's layer: widths, its linear layers as (in, out), experts, and kinds of attention.

    `vocab` is the vocabulary that the next token is sampled from, once a step.

    `attention` names operators: paged_decode (layers without a window), mla_decode,
    gated_delta_decode.
    """

    name: str
    hidden: int
    vocab: int
    linear: Mapping[str, tuple[int, int]]
    attention: Mapping[str, Axes]
    experts: Axes | None = None


def _plain(model: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Joint projection, output projection and MLP of a Llama-shaped layer; without ffn no MLP."""
    hidden, width, ffn = model["hidden"], model["heads"] * model["head_dim"], model.get("ffn")
    joint = (model["heads"] + 2 * model["kv_heads"]) * model["head_dim"]
    layers = {"joint projection": (hidden, joint), "output projection": (width, hidden)}
    if ffn:
        layers |= {"gate and up": (hidden, 2 * ffn), "down": (ffn, hidden)}
    return layers


_QWEN3_30B = {"heads": 32, "kv_heads": 4, "head_dim": 128, "hidden": 2048}
_GEMMA_27B = {"heads": 32, "kv_heads": 16, "head_dim": 128, "hidden": 5376, "ffn": 21504}
_QWEN3_NEXT = {"heads": 16, "kv_heads": 2, "head_dim": 256, "hidden": 2048}
_DELTA = {"heads": 32, "key_heads": 16, "key_dim": 128, "value_dim": 128}
_LATENT = {"heads": 128, "latent_dim": 512, "rope_dim": 64, "entry_dim": 576}

FAMILIES = (
    Family(
        name="Llama 3 8B",
        hidden=4096,
        vocab=128256,
        linear=_plain(llama.LLAMA_8B),
        attention={"paged_decode": llama.LLAMA_8B},
    ),
    Family(
        name="Qwen 3 30B-A3B",
        hidden=2048,
        vocab=151936,
        linear=_plain(_QWEN3_30B),
        attention={"paged_decode": _QWEN3_30B},
        experts={"experts": 128, "top_k": 8, "hidden": 2048, "inner": 768, "zipf_percent": 0},
    ),
    Family(
        name="DeepSeek V3",
        hidden=7168,
        vocab=129280,
        linear={
            "queries down": (7168, 1536),
            "queries up": (1536, 128 * 192),
            "entry": (7168, 576),
            "output projection": (128 * 128, 7168),
        },
        attention={"mla_decode": _LATENT},
        experts={"experts": 256, "top_k": 8, "hidden": 7168, "inner": 2048, "zipf_percent": 0},
    ),
    Family(
        name="Gemma 3 27B",
        hidden=5376,
        vocab=262208,
        linear=_plain(_GEMMA_27B),
        attention={"paged_decode": _GEMMA_27B},
    ),
    Family(
        name="Qwen3-Next 80B-A3B",
        hidden=2048,
        vocab=151936,
        linear={"joint projection (linear attention)": (2048, 12352), "its output": (4096, 2048)},
        attention={"gated_delta_decode": _DELTA, "paged_decode": _QWEN3_NEXT},
        experts={"experts": 512, "top_k": 10, "hidden": 2048, "inner": 512, "zipf_percent": 0},
    ),
)


@cache
def uses(family: str) -> tuple[Use, ...]:
    """Every operator of a family's layer at every batch and context. KeyError if unknown."""
    known = {one.name: one for one in FAMILIES}
    return tuple(_uses(known[family]))


def of_operator(operator: str) -> tuple[Use, ...]:
    """The uses of one operator of the catalogue, in all families."""
    return tuple(use for one in FAMILIES for use in uses(one.name) if use.operator == operator)


def operators(part: str) -> tuple[str, ...]:
    """The catalogue's operators that are this part of a layer in some family, by name."""
    found = {use.operator for one in FAMILIES for use in uses(one.name) if use.part == part}
    return tuple(sorted(found))


def _uses(family: Family) -> Iterator[Use]:
    for operator, model in family.attention.items():
        contexts = (None,) if operator == "gated_delta_decode" else CONTEXTS
        for batch in BATCHES:
            for context in contexts:
                axes = _attention_axes(model, batch, context)
                features = ("paging", "quantisation") if operator == "paged_decode" else ()
                yield _by_catalogue(family, "attention", operator, axes, context, features)
    for batch in BATCHES:
        yield from _products(family, batch)
        axes = {"tokens": batch, "hidden": family.hidden}
        yield _by_catalogue(
            family, "residual, norm and FP8", "residual_norm_quantize", axes, None, ()
        )
        axes = {"batch": batch, "vocab": family.vocab, "most_k": MOST_K}
        yield _by_catalogue(family, "next token", "token_sampling", axes, None, ())
        if family.experts:
            axes = {**family.experts, "tokens": batch}
            yield _by_catalogue(family, "experts", "moe_routing", axes, None, ())


def _attention_axes(model: Axes, batch: int, context: int | None) -> dict[str, int]:
    """Axes at which the operator's mean length is the context."""
    longest = 2 * (context or 0)
    return {**model, "batch": batch, "context_len": longest, "pages_each": longest // PAGE}


def _by_catalogue(
    family: Family,
    part: str,
    operator: str,
    axes: Axes,
    context: int | None,
    features: tuple[str, ...],
) -> Use:
    return Use(
        family=family.name,
        part=part,
        operator=operator,
        batch=axes["batch"] if "batch" in axes else axes["tokens"],
        context=context,
        bytes_moved=catalogue.bytes_moved(operator, axes, DTYPE),
        flops=catalogue.flops(operator, axes),
        features=features,
    )


def _products(family: Family, batch: int) -> Iterator[Use]:
    """All linear layers together: with 16-bit weights, then with 4-bit ones."""
    shapes = family.linear.values()
    flops = sum(2 * batch * inside * outside for inside, outside in shapes)
    rows = sum(batch * (inside + outside) for inside, outside in shapes)
    weights = sum(inside * outside for inside, outside in shapes)
    item = ITEM_BYTES[DTYPE]
    wide, narrow = (weights + rows) * item, weights // 2 + (weights // GROUP + rows) * item
    for operator, bits, moved in (("", 16, wide), ("int4_linear", 4, narrow)):
        yield Use(
            family=family.name,
            part=f"linear layers, {bits}-bit weights",
            operator=operator,
            batch=batch,
            context=None,
            bytes_moved=moved,
            flops=flops,
            features=("quantisation",) if operator else (),
        )
