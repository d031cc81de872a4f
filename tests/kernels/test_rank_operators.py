"""Solutions of several ranks agree with the reference on every rank, on processors by gloo."""

from __future__ import annotations

import pytest

from kernels import catalogue, rank_trials

OPERATORS = [operator for operator in catalogue.operators() if catalogue.has_ranks(operator)]


def _here(operator: str) -> list[str]:
    """The baseline of the tiny preset, and the candidates in plain torch."""
    ours = [name for name in catalogue.candidates(operator) if name.startswith("torch_")]
    return [catalogue.presets(operator)["tiny"].baseline, *ours]


def _tried(operator: str, dtype: str, level: str, **sizes: int) -> list[str]:
    axes = {**catalogue.presets(operator)["tiny"].workloads[0].axes, **sizes}
    return [
        one["note"]
        for one in rank_trials.tried(operator, _here(operator), axes, dtype, "cpu", level=level)
    ]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_step_is_right_on_every_rank(operator: str) -> None:
    assert set(_tried(operator, "float32", "program")) == {"right"}


@pytest.mark.soak
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("level", ["operator", "program"])
@pytest.mark.parametrize("tokens", [1, 7])
def test_solutions_are_right_at_odd_sizes(
    operator: str, dtype: str, level: str, tokens: int
) -> None:
    assert set(_tried(operator, dtype, level, tokens=tokens)) == {"right"}


@pytest.mark.soak
@pytest.mark.parametrize("operator", OPERATORS)
def test_solutions_are_right_on_three_ranks(operator: str) -> None:
    assert set(_tried(operator, "float32", "program", ranks=3)) == {"right"}
