"""Compiling has a limit of its own, and the compiler's own errors pass through it."""

from __future__ import annotations

import time

import pytest

from kernels.cuda import CompileError, within


def test_a_compiler_that_does_not_end_is_given_up() -> None:
    started = time.monotonic()
    with pytest.raises(CompileError, match=r"compiling took longer than 0\.05 s"):
        within(0.05, lambda: time.sleep(2))
    assert time.monotonic() - started < 1


def test_what_compiles_in_time_comes_back_and_so_does_its_error() -> None:
    assert within(5.0, lambda: "machine code") == "machine code"

    def refuse() -> None:
        raise RuntimeError("candidate.cu(3): error: no such thing")

    with pytest.raises(RuntimeError, match="no such thing"):
        within(5.0, refuse)
