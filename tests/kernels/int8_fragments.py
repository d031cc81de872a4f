"""How the CUDA kernels of int8_linear find weights in the bytes that each lane loads."""

from __future__ import annotations

from torch import Tensor


def assert_lanes_hold(packed: Tensor, expected: Tensor) -> None:
    """The lanes of a warp find all of `expected` [16, 32] in their 16 bytes each of `packed`."""
    found: dict[tuple[int, int], int] = {}
    for lane, own in enumerate(packed.reshape(32, 16)):
        found |= _operand(own, lane)
    assert len(found) == 16 * 32
    for (row, col), number in found.items():
        assert number == expected[row, col]


def _operand(words: Tensor, lane: int) -> dict[tuple[int, int], int]:
    """What a lane's 16 bytes are, by row and column of 16 x 32, as the kernels take them apart.

    PTX ISA, register fragments of A, the same for mma.m16n8k16 and wgmma: registers 0 and 2 hold
    row g, 1 and 3 row g + 8; 0 and 1 columns 2 t and 2 t + 1, 2 and 3 those eight further on.
    """
    g, t = divmod(lane, 4)
    held = {}
    for place, word in enumerate(words.view(4, 4).tolist()):
        k, lower = divmod(place, 2)
        for upper_columns, pair in ((0, word[0::2]), (8, word[1::2])):
            for odd, number in enumerate(pair):
                held[g + 8 * lower, 16 * k + upper_columns + 2 * t + odd] = number
    return held
