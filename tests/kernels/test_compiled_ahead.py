"""Every Triton kernel compiles for an H200 on a machine without one: more than interpreting shows.

In processes of their own: Triton is the interpreter in the tests' process and compiles nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from kernels import catalogue

pytest.importorskip("triton", reason="Triton compiles on Linux only")
ahead = pytest.importorskip("tests.kernels.ahead")

# Shares of the other candidates, so that test processes can divide the compiling.
SHARES = 3


def test_every_triton_candidate_is_compiled() -> None:
    assert set(ahead.named()) >= {
        f"{operator}/{name}"
        for operator in catalogue.operators()
        for name in catalogue.candidates(operator)
        if name.startswith("triton_") or name == "cuda_gluon"
    }


# One of each language, the quickest to compile.
SHORT = ["fused_ffn/cuda_gluon", "int8_quantize/triton_quantize"]


def test_a_kernel_of_each_language_compiles_for_an_h200() -> None:
    _assert_all_compile(SHORT)


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_all_other_kernels_compile_for_an_h200(share: int) -> None:
    _assert_all_compile([name for name in ahead.named() if name not in SHORT][share::SHARES])


def _assert_all_compile(asked: list[str]) -> None:
    lines = _compiled(asked)
    assert [line["candidate"] for line in lines] == asked
    assert not {line["candidate"]: line["problem"] for line in lines if line["problem"]}
    # The pipelined rung stays as it was measured; its README says what this costs.
    serialised = {line["candidate"] for line in lines if _has_serialised_products(line["kernels"])}
    assert serialised <= {"matmul_ladder/cuda_5_pipelined"}


def _compiled(candidates: list[str]) -> list[dict[str, Any]]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.ahead", *candidates],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _has_serialised_products(kernels: list[dict[str, Any]]) -> bool:
    return any(kernel.get("serialised") for kernel in kernels)
