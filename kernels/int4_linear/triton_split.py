"""Four bits a weight as they are, widened in registers two at a time, in front of the tensor cores.

Weights are packed by groups of 128 inputs: the 64 bytes of a feature's group follow those of the
feature before, so that a tile is one piece of memory, copied 16 bytes a thread. A 16-bit word has
the weights 32 apart in its four digits. Two neighbouring words are one register; masked and with
the exponent of 128 (bfloat16) or 1024 (float16) put in front, they are two numbers, exact, from
which one instruction takes 128 + 8 or 1024 + 8. Group scales multiply a group's sum in float32.

The weights are on the left of the product, where their many rows fill the tile of the tensor cores.
All tiles' groups form one list, and every program takes an equal share of it. A tile that several
programs have a part of is added up, in their order, by the last of them to finish: the result is
the same every time, and the tile's counter is zero again for the next call.
Under TRITON_INTERPRET=1 it runs on the processor.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels import tuning
from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise NotAvailable("triton_split needs Triton 3.4 or later: pip install triton") from error

GROUP = 128
# Words of a feature's group, of four weights each.
WORDS = 32
# What tl.dot takes at least, and the most rows of x that a tile has.
LEAST_ROWS = 16
MOST_ROWS = 64
# Where there is no GPU to ask: under Triton's interpreter.
FEW_MULTIPROCESSORS = 3


def _assembly(kind: str, exponent: int, one: int, offset: int) -> tuple[str, ...]:
    """For digit 0 to 3: two words in $1 to two numbers from -8 to 7 in $0."""
    return tuple(
        f"{{ .reg .b32 d, one, offset; shr.b32 d, $1, {4 * digit}; "
        f"lop3.b32 d, d, 0x000f000f, {exponent * 0x10001:#x}, 0xea; "
        f"mov.b32 one, {one * 0x10001:#x}; mov.b32 offset, {offset * 0x10001:#x}; "
        f"fma.rn.{kind} $0, d, one, offset; }}"
        for digit in range(4)
    )


# The bits of 128, 1 and -(128 + 8); of 1024, 1 and -(1024 + 8).
ASSEMBLY = {
    torch.bfloat16: _assembly("bf16x2", 0x4300, 0x3F80, 0xC308),
    torch.float16: _assembly("f16x2", 0x6400, 0x3C00, 0xE408),
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """A tile is `features` of out_features by a group; `residents` programs a multiprocessor."""

    features: int
    warps: int
    stages: int
    residents: int


CONFIGS = (
    Config(features=128, warps=8, stages=5, residents=2),
    Config(features=128, warps=4, stages=5, residents=3),
    Config(features=64, warps=4, stages=6, residents=4),
    Config(features=128, warps=8, stages=4, residents=1),
    Config(features=256, warps=8, stages=4, residents=1),
)


@dataclass(frozen=True)
class _Prepared:
    words: Tensor  # [groups, out_features, WORDS] int16
    scale: Tensor  # [groups, out_features] float32: 4 bytes a thread can be copied asynchronously
    parts: Tensor  # [row tiles, programs, 2, features, rows] in float32
    arrived: Tensor  # [row tiles, tiles] int32, zero between calls
    config: Config


@triton.jit
def _owner(step, steps_in_all, programs):
    """The program whose share has this step."""
    return ((step + 1) * programs - 1) // steps_in_all


@triton.jit
def _widened(words, DIGIT: tl.constexpr, ASSEMBLY: tl.constexpr, dtype: tl.constexpr):
    """One weight of every word as a number."""
    if ASSEMBLY is None:
        wide = (((words.to(tl.int32) >> (4 * DIGIT)) & 15) - 8).to(tl.float32).to(dtype)
    elif dtype == tl.bfloat16:
        wide = tl.inline_asm_elementwise(ASSEMBLY[DIGIT], "=r,r", [words], tl.bfloat16, True, 2)
    else:
        wide = tl.inline_asm_elementwise(ASSEMBLY[DIGIT], "=r,r", [words], tl.float16, True, 2)
    return wide


@triton.jit
def _tile_sum(
    x_ptr, words_ptr, scale_ptr, batch, out_features, stride_x, tile, rows, begin, end,
    FEATURES: tl.constexpr, ROWS: tl.constexpr, STAGES: tl.constexpr, WHOLE: tl.constexpr,
    ASSEMBLY: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """A tile's sum over its groups from `begin` to `end`."""
    WORDS: tl.constexpr = 32
    feature = tile * FEATURES + tl.arange(0, FEATURES)
    row = rows * ROWS + tl.arange(0, ROWS)
    word = tl.arange(0, WORDS)
    words_at = words_ptr + feature[:, None].to(tl.int64) * WORDS + word[None, :]
    x_at = x_ptr + row[None, :].to(tl.int64) * stride_x + word[:, None]
    known, held = feature < out_features, row[None, :] < batch
    acc = tl.zeros([FEATURES, ROWS], tl.float32)
    for group in tl.range(begin, end, num_stages=STAGES):
        ahead = group * out_features
        if WHOLE:
            words = tl.load(words_at + ahead * WORDS, eviction_policy="evict_first")
            scale = tl.load(scale_ptr + ahead + feature)
        else:
            words = tl.load(words_at + ahead * WORDS, mask=known[:, None], other=0)
            scale = tl.load(scale_ptr + ahead + feature, mask=known, other=0.0)
        part = tl.zeros([FEATURES, ROWS], tl.float32)
        # Each digit's x is a tile of its own: registers cannot be cut.
        for digit in tl.static_range(4):
            x = tl.load(x_at + (group * 4 + digit) * WORDS, mask=held, other=0.0)
            weight = _widened(words, digit, ASSEMBLY, x.dtype)
            part = tl.dot(weight, x, part, input_precision=PRECISION)
        acc += part * scale[:, None]
    return acc


@triton.jit
def _linear(
    x_ptr, words_ptr, scale_ptr, out_ptr, parts_ptr, arrived_ptr,
    batch, out_features, groups, stride_x, tiles,
    FEATURES: tl.constexpr, ROWS: tl.constexpr, STAGES: tl.constexpr, WHOLE: tl.constexpr,
    ASSEMBLY: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    me, programs, rows = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
    # Widened from the steps: a single tile is a constant here and has no type to widen.
    in_all = (groups + tl.zeros([], tl.int64)) * tiles
    at = (me * in_all // programs).to(tl.int32)
    last = ((me + 1) * in_all // programs).to(tl.int32)
    inside = tl.arange(0, FEATURES)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]
    row = rows * ROWS + tl.arange(0, ROWS)[None, :]
    own_parts = parts_ptr + rows.to(tl.int64) * programs * (2 * FEATURES * ROWS) + inside
    while at < last:
        tile = at // groups
        first_step = tile * groups
        begin, end = at - first_step, tl.minimum(groups, last - first_step)
        acc = _tile_sum(
            x_ptr, words_ptr, scale_ptr, batch, out_features, stride_x, tile, rows, begin, end,
            FEATURES, ROWS, STAGES, WHOLE, ASSEMBLY, PRECISION,
        )  # fmt: skip
        whole = end - begin == groups
        if not whole:
            # A program has at most two parts: the end of one tile, the beginning of another.
            mine = own_parts + (me * 2 + (begin == 0).to(tl.int32)).to(tl.int64) * FEATURES * ROWS
            tl.store(mine, acc)
            # Every thread's part is written before the program says so.
            tl.debug_barrier()
            first = _owner(first_step.to(tl.int64), in_all, programs).to(tl.int32)
            final = _owner((first_step + groups - 1).to(tl.int64), in_all, programs).to(tl.int32)
            counter = arrived_ptr + rows * tiles + tile
            whole = tl.atomic_add(counter, 1, sem="acq_rel") == final - first
            if whole:
                acc = tl.zeros([FEATURES, ROWS], tl.float32)
                for program in range(first, final + 1):
                    place = program * 2 + (program == first).to(tl.int32)
                    part = own_parts + place.to(tl.int64) * FEATURES * ROWS
                    acc += tl.load(part, cache_modifier=".cg")
                tl.store(counter, 0)
        if whole:
            feature = tile * FEATURES + tl.arange(0, FEATURES)
            out_at = out_ptr + row.to(tl.int64) * out_features + feature[:, None]
            held = (row < batch) & (feature < out_features)[:, None]
            tl.store(out_at, acc.to(out_ptr.dtype.element_ty), mask=held)
        at = first_step + end


def packed(weight: Tensor) -> Tensor:
    """Weights [out_features, in_features] from 0 to 15 as words [groups, out_features, WORDS]."""
    digits = weight.view(len(weight), -1, 4, WORDS).to(torch.int32)
    words = digits[:, :, 0] | digits[:, :, 1] << 4 | digits[:, :, 2] << 8 | digits[:, :, 3] << 12
    return words.to(torch.int16).transpose(0, 1).contiguous()


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    tried = {}
    for features, warps, stages in ((64, 4, 4), (64, 4, 8), (128, 4, 4), (128, 8, 6), (256, 8, 4)):
        for residents in (1, 2, 4) if features < 256 else (1,):
            name = f"f{features} w{warps} s{stages} r{residents}"
            tried[name] = Config(features=features, warps=warps, stages=stages, residents=residents)
    return tried


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """The weights in packed words, room for the parts of a sum, and the quickest cut.

    NotAvailable without a CUDA GPU.
    """
    weight = state["weight"]
    if not weight.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_split needs a CUDA GPU; on the processor use torch_groups")
    words, scale = packed(weight), state["scale"].T.float().contiguous()
    batch, rows = axes["batch"], _rows(axes["batch"])
    x = state["scale"].new_zeros(batch, weight.shape[1])
    out = state["scale"].new_empty(batch, len(weight))
    chosen = config or tuning.best(
        source=__file__,
        key=(*weight.shape, rows, str(x.dtype)),
        configs=CONFIGS,
        run=lambda config: _launch(_with(words, scale, batch, config), x, out),
    )
    return _with(words, scale, batch, chosen)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, out_features]."""
    _launch(prepared, inputs["x"], out["out"])


def _rows(batch: int) -> int:
    rows: int = triton.next_power_of_2(batch)
    return min(MOST_ROWS, max(LEAST_ROWS, rows))


def _programs(words: Tensor, config: Config) -> int:
    """How many share the sums of one tile of rows; no share is empty."""
    groups, out_features, _ = words.shape
    processors = (
        torch.cuda.get_device_properties(words.device).multi_processor_count
        if words.is_cuda
        else FEW_MULTIPROCESSORS
    )
    most: int = groups * triton.cdiv(out_features, config.features)
    return min(config.residents * processors, most)


def _with(words: Tensor, scale: Tensor, batch: int, config: Config) -> _Prepared:
    rows, tiles = _rows(batch), triton.cdiv(words.shape[1], config.features)
    row_tiles, programs = triton.cdiv(batch, rows), _programs(words, config)
    return _Prepared(
        words=words,
        scale=scale,
        parts=torch.empty(
            (row_tiles, programs, 2, config.features, rows),
            dtype=torch.float32,
            device=words.device,
        ),
        arrived=torch.zeros(row_tiles, tiles, dtype=torch.int32, device=words.device),
        config=config,
    )


def _launch(prepared: _Prepared, x: Tensor, out: Tensor) -> None:
    config, words = prepared.config, prepared.words
    groups, out_features, _ = words.shape
    row_tiles, tiles = prepared.arrived.shape
    _linear[(_programs(words, config), row_tiles)](
        x,
        words,
        prepared.scale,
        out,
        prepared.parts,
        prepared.arrived,
        len(x),
        out_features,
        groups,
        x.stride(0),
        tiles,
        FEATURES=config.features,
        ROWS=_rows(len(x)),
        STAGES=config.stages,
        WHOLE=out_features % config.features == 0,
        ASSEMBLY=ASSEMBLY.get(x.dtype) if words.is_cuda else None,
        # TF32 would lose what float32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee",
        num_warps=config.warps,
    )
