"""The CUDA kernel that takes int8 weights by warps or by warpgroups: layout and cuts, no GPU."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

from kernels import catalogue, solutions
from kernels.definition import NotAvailable
from tests.kernels.int8_fragments import assert_lanes_hold

OPERATOR = "int8_linear"
MULTIPROCESSORS = 132
# out_features and in_features of a Llama-3-8B layer; wider than a round of all blocks; odd ones.
WIDTHS = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (14336, 4096)]
ODD_WIDTHS = [(136, 528), (128256, 4096), (1, 1), (65, 130), (4097, 256)]


@pytest.fixture(scope="module")
def kernel() -> ModuleType:
    return solutions.module_of(catalogue.candidates(OPERATOR)["cuda_by_rows"])


@pytest.mark.parametrize("column", [128, 512])
def test_every_lane_finds_its_operands_in_its_sixteen_bytes(
    kernel: ModuleType, column: int
) -> None:
    torch.manual_seed(8)
    rows, depth = 80, 200
    weight = torch.randint(-128, 128, (150, depth), dtype=torch.int8)
    packed = kernel.packed(weight, rows, column)
    pieces = -(-depth // column)
    assert packed.shape[:4] == (2, pieces, rows // 16, column // 32)
    whole = torch.zeros(160, pieces * column, dtype=torch.int8)
    whole[:150, :depth] = weight
    # Kept as numbers + 128, which turns the highest bit.
    whole ^= -128
    for tile, piece, sixteen, step in ((0, 0, 0, 0), (0, pieces - 1, 4, 1), (1, 0, 3, 3)):
        row0, col0 = tile * rows + sixteen * 16, piece * column + step * 32
        assert_lanes_hold(
            packed[tile, piece, sixteen, step], whole[row0 : row0 + 16, col0 : col0 + 32]
        )


def test_a_number_is_widened_exactly() -> None:
    """The kernel's own arithmetic on every byte, as bf16 and as half."""
    number = torch.arange(-128, 128)
    byte = (number.to(torch.int8) ^ -128).view(torch.uint8).to(torch.int16)
    # Denormals and the first normal numbers: bits 0 to 255 are so many times 2^-133.
    alone = byte.view(torch.bfloat16).float()
    assert torch.equal((alone * 2.0**126 - 1).bfloat16().float() * 128, number.float())
    after_1024 = (byte | 0x6400).view(torch.float16)
    assert torch.equal((after_1024 - 1152).float(), number.float())


@pytest.mark.parametrize("turns", [1, 2, 4])
def test_a_warp_reads_the_columns_of_x_that_its_weights_are_for(turns: int) -> None:
    """The kernel's own arithmetic of places, on x as the engine lays it down, swizzled.

    PTX ISA: within 1024 bytes the place of 16 bytes is its number in its row of 128, exclusive or
    the row's number.
    """
    depth, tokens = 512, 16
    piece = tokens * 128
    laid: dict[int, tuple[int, int]] = {}
    for part in range(depth // 64):
        for token in range(tokens):
            for sixteen in range(8):
                place = part * piece + token * 128 + (sixteen ^ token % 8) * 16
                laid[place] = (token, part * 64 + sixteen * 8)
    for turn in range(turns):
        for i in range(depth // 32 // turns):
            step = i * turns + turn
            for lane in range(32):
                token, quarter = lane % 8, lane // 8
                own = turn // 2 * piece + token * 128 + (turn % 2 * 4 + quarter ^ token) * 16
                for group in range(tokens // 8):
                    at = (own ^ i * turns % 2 * 64) + i * turns // 2 * piece + group * 1024
                    assert laid[at] == (group * 8 + token, step * 32 + quarter * 8)


@pytest.mark.parametrize("tokens", [1, 7, 16, 17, 64, 200])
@pytest.mark.parametrize(("features", "depth"), WIDTHS + ODD_WIDTHS)
def test_cuts_fit_a_multiprocessor_and_cover_every_feature(
    kernel: ModuleType, features: int, depth: int, tokens: int
) -> None:
    found: list[Any] = kernel.cuts(features, depth, tokens, MULTIPROCESSORS)
    assert found
    for cut in found:
        assert cut.shared_bytes <= kernel.SHARED_BYTES
        assert cut.stages >= kernel.LEAST_STAGES
        # What the driver keeps of a multiprocessor's 228 KB for each block, and the barriers.
        assert cut.resident * (cut.shared_bytes + 1024 + 256) <= 228 * 1024
        assert cut.rows % 16 == 0
        assert cut.threads <= 1024
        assert cut.splits <= -(-depth // cut.depth)
        assert cut.depth // 32 % max(1, cut.turns) == 0
        assert (cut.turns > 0) == (cut.tokens <= kernel.FEW_TOKENS)
        # What warps of a tile leave for its first one, and the result, lie where the ring was.
        assert (cut.turns - 1) * cut.tokens * 2 * cut.holders <= cut.stages * cut.stage_bytes
        assert cut.tokens * (cut.holders // 2 + 8) * 2 <= cut.stages * cut.stage_bytes


def test_widths_of_a_model_leave_few_multiprocessors_without_work(kernel: ModuleType) -> None:
    for features, depth in WIDTHS:
        for tokens in (1, 16, 64):
            for cut in kernel.cuts(features, depth, tokens, MULTIPROCESSORS):
                blocks = -(-features // cut.rows) * cut.splits
                assert MULTIPROCESSORS * 2 // 3 <= blocks <= MULTIPROCESSORS


def test_blocks_of_two_calls_share_a_multiprocessor_only_by_warps_and_where_calls_are_short(
    kernel: ModuleType,
) -> None:
    for features, depth in WIDTHS:
        residents = {cut.resident for cut in kernel.cuts(features, depth, 16, MULTIPROCESSORS)}
        short = features * depth <= kernel.SHORT_BYTES
        assert residents == ({1, 2} if short else {1})
        wide = kernel.cuts(features, depth, 17, MULTIPROCESSORS)
        assert {cut.resident for cut in wide} == {1}


def test_the_kernel_is_unavailable_without_a_hopper_gpu(kernel: ModuleType) -> None:
    state = {"weight": torch.zeros(8, 8, dtype=torch.int8), "scale": torch.ones(8)}
    with pytest.raises(NotAvailable, match="Hopper"):
        kernel.prepare(state, {"batch": 1, "in_features": 8, "out_features": 8})
