"""The CUDA kernel that widens int8 weights for `wgmma`: its layout and its cuts, without a GPU."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import NotAvailable

OPERATOR = "int8_linear"
MULTIPROCESSORS = 132
# out_features and in_features of a Llama-3-8B layer, and odd ones.
WIDTHS = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (14336, 4096), (136, 528)]
ODD_WIDTHS = [(1, 1), (65, 130), (4097, 256)]


@pytest.fixture(scope="module")
def kernel() -> ModuleType:
    return solutions.module_of(catalogue.candidates(OPERATOR)["cuda_warpgroups"])


def _operand(words: Tensor, lane: int) -> dict[tuple[int, int], int]:
    """What a lane's 16 bytes are, by row and column of 16 x 32, as the kernel takes them apart.

    PTX ISA, register fragments of wgmma's A (the same as those of mma.m16n8k16): registers 0 and 2
    hold row g, 1 and 3 row g + 8; 0 and 1 columns 2 t and 2 t + 1, 2 and 3 those eight further on.
    """
    g, t = divmod(lane, 4)
    held = {}
    for place, word in enumerate(words.view(4, 4).tolist()):
        k, lower = divmod(place, 2)
        for upper_columns, pair in ((0, word[0::2]), (8, word[1::2])):
            for odd, number in enumerate(pair):
                held[g + 8 * lower, 16 * k + upper_columns + 2 * t + odd] = number
    return held


def test_every_lane_finds_its_operands_in_its_sixteen_bytes(kernel: ModuleType) -> None:
    torch.manual_seed(8)
    rows, depth = 80, 200
    weight = torch.randint(-128, 128, (150, depth), dtype=torch.int8)
    packed = kernel.packed(weight, rows)
    assert packed.shape[:4] == (2, 2, rows // 16, kernel.DEPTH // 32)
    whole = torch.zeros(160, 256, dtype=torch.int8)
    whole[:150, :depth] = weight
    for tile, piece, sixteen, step in ((0, 0, 0, 0), (0, 1, 4, 1), (1, 0, 3, 3), (1, 1, 4, 2)):
        row0, col0 = tile * rows + sixteen * 16, piece * kernel.DEPTH + step * 32
        found: dict[tuple[int, int], int] = {}
        for lane, own in enumerate(packed[tile, piece, sixteen, step].reshape(32, 16)):
            found |= _operand(own, lane)
        assert len(found) == 16 * 32
        for (row, col), number in found.items():
            assert number == whole[row0 + row, col0 + col]


@pytest.mark.parametrize("tokens", [1, 7, 16, 64, 200])
@pytest.mark.parametrize(("features", "depth"), WIDTHS + ODD_WIDTHS)
def test_cuts_fit_a_multiprocessor_and_hold_every_feature(
    kernel: ModuleType, features: int, depth: int, tokens: int
) -> None:
    found: list[Any] = kernel.cuts(features, depth, tokens, MULTIPROCESSORS)
    assert found
    for cut in found:
        tiles = -(-features // cut.rows)
        assert cut.shared_bytes <= kernel.SHARED_BYTES
        assert cut.stages >= 3
        assert cut.rows % 16 == 0
        assert cut.threads <= 1024
        assert tiles % cut.cluster == 0
        assert cut.splits <= -(-depth // kernel.DEPTH)
        assert cut.tokens in (8, 16, 32, 64)


def test_widths_of_a_model_leave_few_multiprocessors_without_work(kernel: ModuleType) -> None:
    for features, depth in WIDTHS[:5]:
        for cut in kernel.cuts(features, depth, 64, MULTIPROCESSORS):
            blocks = -(-features // cut.rows) * cut.splits
            assert MULTIPROCESSORS * 2 // 3 <= blocks <= MULTIPROCESSORS


def test_without_a_hopper_gpu_it_says_so(kernel: ModuleType) -> None:
    state = {"weight": torch.zeros(8, 8, dtype=torch.int8), "scale": torch.ones(8)}
    with pytest.raises(NotAvailable, match="Hopper"):
        kernel.prepare(state, {"batch": 1, "in_features": 8, "out_features": 8})
