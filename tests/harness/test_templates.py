"""What a candidate begins as, measured by the referee like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.harness.runs import candidates, referee
from benchmarks.harness.runs.progress import Progress
from kernels import catalogue, solutions

SHARED = "shared_prefix_attention"
TEMPLATES = Path(solutions.__file__).parent / "template"


@pytest.mark.soak
def test_the_torch_template_passes_a_whole_run() -> None:
    document = catalogue.benchmark_document(SHARED, "tiny")
    document["protocol"] |= {"replicates": 1, "max_replicates": 1, "rounds": 2, "aa_rounds": 0}
    record = referee.run(
        document,
        candidates.read(str(TEMPLATES / "torch_template.py")),
        device_kind="cpu",
        command="python -m benchmarks.harness run b.json torch_template.py --out r.json",
        progress=Progress(document, shown=False),
    )
    assert record["findings"] == []
    assert record["summary"]["verdict"] in {"missed", "inconclusive", "invalid"}
    assert {trial["outcome"] for trial in record["correctness"]["trials"]} == {"right"}
    assert record["candidate"]["filename"] == "torch_template.py"
