"""The autotuned CUDA rung: every cut fits a block of a Hopper GPU, and is known by its name."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kernels import catalogue, solutions
from kernels.definition import NotAvailable

FILE = catalogue.candidates("matmul_ladder")["cuda_6_autotuned"]
# CUDA C++ Programming Guide, compute capability 9.0.
SHARED_BYTES, REGISTERS = 227 * 1024, 64 * 1024
# Barriers of the ring stand beside what a launch asks for.
BARRIER_BYTES = 2 * 8


@pytest.fixture(scope="module")
def rung() -> ModuleType:
    return solutions.module_of(FILE)


def test_every_cut_fits_a_block(rung: ModuleType) -> None:
    for name, cut in rung.variants(2).items():
        assert cut.shared_bytes + cut.stages * BARRIER_BYTES <= SHARED_BYTES, name
        # A consumer's sums, and 48 registers to live in, beside the producer's 40.
        assert cut.consumers * 128 * (cut.tile_n // 2 + 48) + 128 * 40 <= REGISTERS, name


def test_the_kernel_multiplies_every_width_that_is_tried(rung: ModuleType) -> None:
    written = {int(width) for width in re.findall(r'WGMMA\("(\d+)"', Path(FILE).read_text())}
    assert {cut.tile_n for cut in rung.variants(2).values()} == written


def test_few_rows_have_cuts_of_their_own_and_each_has_a_name(rung: ModuleType) -> None:
    few, many = rung.configs(64), rung.configs(65)
    assert not set(few) & set(many)
    assert max(cut.tile_m for cut in few) <= 64
    assert set(rung.variants(2).values()) == {*few, *many}


def test_unsupported_tensors_are_declined(rung: ModuleType) -> None:
    axes = {"batch": 1, "m": 2, "n": 8, "k": 8}
    with pytest.raises(NotAvailable, match="16-bit"):
        rung.prepare({"b": torch.zeros(1, 8, 8)}, axes)
    if not torch.cuda.is_available():
        with pytest.raises(NotAvailable, match="Hopper"):
            rung.prepare({"b": torch.zeros(1, 8, 8, dtype=torch.bfloat16)}, axes)
