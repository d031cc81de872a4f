"""CUDA C++ candidates on a GPU: a template that is right, and source that does not compile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.harness.failures import SideFailed
from benchmarks.harness.runs import candidates, referee
from benchmarks.harness.runs.progress import Progress
from kernels import catalogue, solutions

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
TEMPLATES = Path(solutions.__file__).parent / "template"


def _measured(path: Path, *, launch: str, dtype: str) -> dict[str, Any]:
    document = catalogue.benchmark_document("shared_prefix_attention", "tiny")
    document |= {
        "dtype": dtype,
        "tolerance": document["definition"]["tolerances"][dtype],
        "operator_tolerance": document["definition"]["operator_tolerances"][dtype],
        "hardware": {"device": "cuda", "name": None},
        "program": {**document["program"], "launch": launch},
    }
    document["protocol"] |= {
        "replicates": 1,
        "max_replicates": 1,
        "rounds": 2,
        "max_calls": 32,
        "aa_rounds": 0,
        "held_back_shapes": 4,
    }
    return referee.run(
        document,
        candidates.read(str(path)),
        device_kind="cuda",
        command="python -m benchmarks.harness run b.json candidate --out r.json",
        progress=Progress(document, shown=False),
    )


@pytest.mark.parametrize(
    ("name", "launch", "dtype"),
    [
        ("torch_template.py", "eager", "float16"),
        ("triton_template.py", "graph", "bfloat16"),
        ("cuda_template.cu", "eager", "float32"),
        ("cuda_template.cu", "graph", "float16"),
    ],
)
def test_a_template_passes_a_whole_run(name: str, launch: str, dtype: str) -> None:
    record = _measured(TEMPLATES / name, launch=launch, dtype=dtype)
    assert record["findings"] == []
    assert {trial["outcome"] for trial in record["correctness"]["trials"]} == {"right"}


def test_source_that_does_not_compile_fails_with_its_first_error_and_the_log(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cuda_broken.cu"
    source = (TEMPLATES / "cuda_template.cu").read_text()
    path.write_text(source.replace("fmaxf(top, tops[t])", "largest(top, tops[t])"))
    with pytest.raises(SideFailed, match=r"candidate\.cu\(\d+\): error.*largest") as failed:
        _measured(path, launch="eager", dtype="float32")
    assert "\n" not in str(failed.value)
    assert "compilation log" in str(failed.value.log)
