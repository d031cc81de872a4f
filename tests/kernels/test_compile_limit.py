"""Compiling has a time limit of its own and passes the compiler's errors on."""

from __future__ import annotations

import time

import pytest

from kernels.cuda import CompileError, run_within


def test_compiling_stops_at_its_limit() -> None:
    started = time.monotonic()
    with pytest.raises(CompileError) as raised:
        run_within(0.05, lambda: time.sleep(2))
    assert raised.value.code == "compile.timeout"
    assert time.monotonic() - started < 1


def test_results_and_errors_within_the_limit_are_passed_on() -> None:
    assert run_within(5.0, lambda: "machine code") == "machine code"

    error = RuntimeError("candidate.cu(3): error: no such thing")

    def fail() -> None:
        raise error

    with pytest.raises(RuntimeError) as raised:
        run_within(5.0, fail)
    assert raised.value is error
