"""A Program that trains has gradients among its outputs, and they are checked as outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness.failures import SideFailed
from benchmarks.harness.runs import candidates, referee
from benchmarks.harness.runs.progress import Progress
from benchmarks.harness.sides import operators
from benchmarks.records import documents
from tests.harness.softmax import softmax_benchmark

OPERATOR = "softmax_training"
FORWARD = """
import torch

def run(state, inputs, out):
    torch.softmax(inputs["x"] + state["bias"], -1, out=out["y"])
"""
RIGHT = """
def gradients(state, inputs, out, grads, axes):
    y, grad = out["y"], grads["y"]
    return {"x": y * (grad - (grad * y).sum(-1, keepdim=True))}
"""
# As of an activation by element: the sum over the row is forgotten.
WRONG = """
def gradients(state, inputs, out, grads, axes):
    return {"x": out["y"] * grads["y"] * (1 - out["y"])}
"""


def _measured(folder: Path, source: str) -> dict[str, Any]:
    document = softmax_benchmark(rounds=2, held_back_shapes=2)
    definition = operators.part(OPERATOR, "op").DEFINITION
    plain = json.loads(json.dumps(definition.as_data()))
    document |= {
        "name": f"{OPERATOR}/test",
        "operator": OPERATOR,
        "definition": plain,
        "sources": operators.source_digests(
            OPERATOR, ["program.py", "reference.py", "baselines.py"]
        ),
        "tolerance": plain["tolerances"]["float32"],
    }
    documents.check(document)
    path = folder / "trained.py"
    path.write_text(source)
    return referee.run(
        document,
        candidates.read(str(path)),
        device_kind="cpu",
        command="",
        progress=Progress(document, shown=False),
    )


def test_right_gradients_pass_rounds_and_trials(tmp_path: Path) -> None:
    record = _measured(tmp_path, FORWARD + RIGHT)
    assert record["findings"] == []
    assert [trial["level"] for trial in record["correctness"]["trials"]] == ["operator", "program"]


def test_a_wrong_gradient_is_caught_by_its_name(tmp_path: Path) -> None:
    record = _measured(tmp_path, FORWARD + WRONG)
    (finding,) = record["findings"]
    assert (finding["kind"], finding["side"]) == ("output", "candidate")
    assert "wrong result: grad_x" in finding["message"]


def test_a_solution_without_gradients_cannot_train(tmp_path: Path) -> None:
    with pytest.raises(SideFailed, match="has no `gradients`"):
        _measured(tmp_path, FORWARD)
