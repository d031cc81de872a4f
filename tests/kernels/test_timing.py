"""Timing tables: their lines, and that one Solution's failure does not stop the others."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from kernels import catalogue, surveys, timing, trials
from kernels.definition import NOT_AVAILABLE, OUT_OF_TIME
from kernels.solutions import Solution
from kernels.timing import Job


def _jobs(operator: str, *, variants: bool) -> list[Job]:
    preset = catalogue.presets(operator)["h200"]
    return list(timing.jobs(operator, preset, variants=variants, step=False))


@pytest.mark.parametrize("operator", ["int8_linear", "moe_routing", "shared_prefix_attention"])
def test_every_cut_of_every_candidate_has_a_line_at_every_workload(operator: str) -> None:
    jobs = _jobs(operator, variants=True)
    assert len(jobs) == len(catalogue.presets(operator)["h200"].workloads)
    for job in jobs:
        cut = {name.partition(" [")[0] for name, _ in job.solutions if "[" in name}
        assert cut == {
            name
            for name, file in catalogue.candidates(operator).items()
            if "def variants(" in file.read_text()
        }
        names = [name for name, _ in job.solutions]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("operator", catalogue.operators_of_one_rank())
def test_candidates_without_cuts_are_timed_too(operator: str) -> None:
    plain = {*catalogue.baselines(operator), *catalogue.candidates(operator)}
    for job in _jobs(operator, variants=True):
        assert {name for name, _ in job.solutions} >= plain


def test_a_table_lists_failed_and_untried_solutions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    preset = catalogue.presets("vector_add")["tiny"]
    [job] = timing.jobs("vector_add", preset, variants=True, step=False)

    job.run(time.monotonic() + 60)

    table = capsys.readouterr().out
    assert "torch_plain" in table
    assert f"cuda_add                                 {NOT_AVAILABLE}" in table

    job.run(time.monotonic() - 1)

    assert capsys.readouterr().out.count(OUT_OF_TIME) == len(job.solutions)


def _solution(calls: list[float], call_s: float) -> Solution:
    """A sum of vectors that takes `call_s` seconds and records its calls."""

    def run(prepared: Any, inputs: Any, out: Any) -> None:
        calls.append(call_s)
        time.sleep(call_s)
        torch.add(inputs["x"], inputs["y"], out=out["out"])

    return Solution(name="sleepy", prepare=lambda state, axes: None, run=run)


def test_long_calls_have_few_repeats() -> None:
    preset = catalogue.presets("vector_add")["tiny"]
    bench = trials.operator_bench("vector_add", preset, preset.workloads[0])
    slow: list[float] = []
    quick: list[float] = []

    timed = trials.time_solution(bench, _solution(slow, 0.15))
    assert timed.call_us is not None
    assert timed.call_us > 150_000
    assert len(slow) == 4
    assert trials.time_solution(bench, _solution(quick, 0.0)).call_us is not None
    assert len(quick) > 4


@pytest.mark.parametrize("operator", catalogue.operators())
def test_every_operator_has_a_tiny_preset_for_the_processor(operator: str) -> None:
    assert catalogue.preset_named(operator, "tiny").device == "cpu"


@pytest.mark.parametrize("module", [timing, surveys])
def test_an_unknown_preset_is_answered_with_the_known_ones(
    module: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["timing", "vector_add", "--preset", "magic"])
    with pytest.raises(SystemExit, match="2"):
        module.main()
    assert "tiny, cuda, h200" in capsys.readouterr().err


def test_the_tiny_preset_is_the_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["timing", "embedding_lookup", "--only", "index_select"])
    timing.main()
    assert "index_select" in capsys.readouterr().out
