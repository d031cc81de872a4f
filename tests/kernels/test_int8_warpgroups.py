"""The CUDA kernel that widens int8 weights for `wgmma`: its layout and its cuts, without a GPU."""

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
# out_features and in_features of a Llama-3-8B layer, and odd ones.
WIDTHS = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (14336, 4096), (136, 528)]
ODD_WIDTHS = [(1, 1), (65, 130), (4097, 256)]


@pytest.fixture(scope="module")
def kernel() -> ModuleType:
    return solutions.module_of(catalogue.candidates(OPERATOR)["cuda_warpgroups"])


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
        assert_lanes_hold(
            packed[tile, piece, sixteen, step], whole[row0 : row0 + 16, col0 : col0 + 32]
        )


@pytest.mark.parametrize("tokens", [1, 7, 16, 64, 200])
@pytest.mark.parametrize(("features", "depth"), WIDTHS + ODD_WIDTHS)
def test_cuts_fit_a_multiprocessor_and_cover_every_feature(
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


def test_the_kernel_is_unavailable_without_a_hopper_gpu(kernel: ModuleType) -> None:
    state = {"weight": torch.zeros(8, 8, dtype=torch.int8), "scale": torch.ones(8)}
    with pytest.raises(NotAvailable, match="Hopper"):
        kernel.prepare(state, {"batch": 1, "in_features": 8, "out_features": 8})
