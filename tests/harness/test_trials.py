"""Correctness trials: other sizes, special values, one input more than once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from benchmarks.harness.devices import backends, contents
from benchmarks.harness.devices.checksums import Checksum
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.rounds import correctness, trials
from benchmarks.harness.rounds.checks import CheckTotals
from benchmarks.harness.rounds.reach import Reach
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.runs import referee
from benchmarks.harness.sides import operators
from benchmarks.harness.sides.processes import SideProcess
from benchmarks.records.canonical import canonical
from benchmarks.verdict import consistency
from benchmarks.verdict.verdicts import recompute
from kernels.definition import Contents
from tests.harness.samples import twice_as_fast
from tests.harness.softmax import Document, Measure, softmax_benchmark

SPECS = [{"name": "x", "shape": ["rows", "columns"], "dtype": "", "distribution": "normal"}]
TOLERANCE = {"max_abs": 1e-3, "max_rel": 0.0, "matched_share": 1.0, "hard_cap_abs": 1e-2}


@pytest.mark.alone
def test_an_honest_candidate_passes_every_trial_and_the_record_lists_them(
    honest_record: Document,
) -> None:
    assert honest_record["findings"] == []
    tried = honest_record["correctness"]["trials"]
    assert [trial["kind"] for trial in tried] == ["held_back"] * 3 + ["special"] * 6
    own = {"rows": 8, "columns": 4096}
    assert [trial["axes"] == own for trial in tried[3:]] == [False, True] * 3
    assert tried[0]["axes"] == {"rows": 1, "columns": 1}
    assert "inputs with gaps" in tried[1]["name"]
    assert tried[2]["level"] == "program"
    assert {trial["outcome"] for trial in tried} == {"right"}
    assert {trial["checks"]["repeats_checked"] for trial in tried} == {3}
    assert {trial["checks"]["repeats_identical"] for trial in tried} == {3}
    checks = honest_record["replicates"][0]["workloads"][0]["checks"]
    assert checks["repeats_checked"] == checks["repeats_identical"] > 0


def test_trials_that_the_baseline_fails_are_left_out(measure: Measure) -> None:
    record = measure("only_the_contract", baseline="contract_only", rounds=2)
    assert record["findings"] == []
    tried = record["correctness"]["trials"]
    elsewhere = [trial for trial in tried if "at workload" not in trial["name"]]
    assert {trial["outcome"] for trial in elsewhere} == {"left_out"}
    assert {trial["outcome"] for trial in tried if trial not in elsewhere} == {"right"}
    assert "the baseline raised ValueError" in tried[0]["message"]
    assert consistency.problems(record) == []


def test_every_run_draws_other_sizes_and_none_of_the_contract() -> None:
    document = softmax_benchmark(held_back_shapes=4)
    runs = [trials.drawn(document) for _ in range(5)]
    names = {trial.name for run in runs for trial in run[1:4]}
    assert len(names) > 5
    for run in runs:
        sizes = [trial.axes for trial in run[1:] if "at workload" not in trial.name]
        assert len(sizes) == 6
        for axes in sizes:
            assert axes["columns"] % 2 == 1
            assert 1 <= axes["columns"] <= 2048
    assert trials.drawn(softmax_benchmark(held_back_shapes=0)) == []


def test_special_values_come_at_the_contracts_own_sizes_where_those_fit() -> None:
    document = softmax_benchmark()
    (own,) = {tuple(each["axes"].items()) for each in document["workloads"]}
    fits = {free: _special_sizes(document, free_bytes=free) for free in (1 << 40, 1 << 16)}
    assert own in fits[1 << 40]
    assert own not in fits[1 << 16]


def _special_sizes(document: Document, *, free_bytes: int) -> set[tuple[tuple[str, int], ...]]:
    setting = SimpleNamespace(
        document=document,
        definition=document["definition"],
        device=SimpleNamespace(free_bytes=lambda: free_bytes),
    )
    drawn = [trial for trial in trials.drawn(document) if trial.kind == "special"]
    kept = [trial for trial in drawn if correctness._fits(cast(Setting, setting), trial)]
    return {tuple(trial.axes.items()) for trial in kept}


def _room(document: Document) -> correctness._TrialMemory:
    here = backends.device("cpu")
    setting = SimpleNamespace(
        document=document,
        definition=document["definition"],
        protocol=document["protocol"],
        device=here,
        reference=operators.part(document["operator"], "reference").reference,
        source=contents.generator(here.torch_device),
        reach=Reach(),
        checksum=Checksum(here.torch_device),
        tolerance=lambda level: document["tolerance"],
    )
    return correctness._TrialMemory(cast(Setting, setting), trials.drawn(document)[0])


def test_a_trials_reference_is_made_only_when_the_side_has_answered(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU a side may find the referee's memory, and results in it are nobody's to copy."""
    order: list[str] = []
    reference = correctness._TrialMemory._reference

    def noted(room: correctness._TrialMemory, outputs: torch.Tensor, call: int) -> Any:
        order.append("reference")
        return reference(room, outputs, call)

    monkeypatch.setattr(correctness._TrialMemory, "_reference", noted)
    with _room(document) as room:
        _, complaint = room.tried(_side(lambda message: order.append(message["type"])))
    assert order == ["setup", "bind", "go", "go", "audit", "release", "reference"]
    assert str(complaint).startswith("gave a wrong result")


def test_changed_trial_inputs_are_found_in_both_copies(
    document: Document,
) -> None:
    with _room(document) as room:

        def spoil(message: dict[str, Any]) -> None:
            for memory in (room.given["inputs"], room._arenas["inputs"].memory):
                memory.zero_()

        _, complaint = room.tried(_side(spoil))
    assert complaint == "wrote to its inputs"


def test_a_side_is_asked_for_a_trial_as_for_the_rounds_of_a_workload(
    document: Document, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but sizes and contents differs, and these come in a round."""
    asked: list[dict[str, Any]] = []
    send = SideProcess.ask

    def ask(side: SideProcess, message: dict[str, Any], **how: Any) -> dict[str, Any]:
        asked.append(message)
        return send(side, message, **how)

    monkeypatch.setattr(SideProcess, "ask", ask)
    measure("honest", rounds=2, operator_rounds=2)
    forms: dict[str, set[tuple[str, ...]]] = {}
    for message in asked:
        forms.setdefault(message["type"], set()).add(tuple(sorted(message)))
    assert set(forms) == {"setup", "bind", "renew", "audit", "release", "go"}
    assert {kind for kind, found in forms.items() if len(found) > 1} == set()


def test_a_trials_calls_see_ordinary_contents_until_its_round(document: Document) -> None:
    seen: dict[str, torch.Tensor] = {}
    with _room(document) as room:

        def look(message: dict[str, Any]) -> None:
            seen[message["type"]] = room._arenas["inputs"].memory.clone()

        room.tried(_side(look))
        assert torch.equal(seen["go"], room.given["inputs"])
        assert not torch.equal(seen["bind"], room.given["inputs"])


def _side(on_request: Callable[[dict[str, Any]], object]) -> SideProcess:
    """A candidate that answers every request and computes nothing."""

    def ask(message: dict[str, Any], **how: object) -> dict[str, Any]:
        on_request(message)
        return {}

    return cast(SideProcess, SimpleNamespace(ask=ask, role="candidate"))


def test_a_candidate_cannot_know_which_replicate_has_the_trials(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def last(count: int) -> int:
        asked.append(count)
        return count - 1

    monkeypatch.setattr(referee, "_RANDOM", SimpleNamespace(randrange=last))
    record = measure("careful_once", replicates=2, max_replicates=2, rounds=2)
    assert asked == [2]
    (finding,) = record["findings"]
    assert (finding["kind"], finding["replicate"]) == ("held_back", 1)
    assert record["summary"]["verdict"] == "disqualified"


def test_a_record_without_required_trials_is_invalid() -> None:
    record = copy.deepcopy(twice_as_fast())
    record["correctness"]["trials"].pop()
    assert recompute(record).verdict == "invalid"
    record["correctness"] = None
    assert "held-back sizes" in recompute(record).reasons[0]
    assert canonical(record)


def test_inputs_with_gaps_are_the_same_tensors_with_other_strides() -> None:
    layout = Layout.plan(SPECS, {"rows": 5, "columns": 3}, "float32", 2, strided=("rows",))
    layout = Layout.from_data(layout.as_data())
    memory = torch.zeros(layout.nbytes, dtype=torch.uint8)
    x = layout.tensors(memory, 1)["x"]
    assert x.shape == (5, 3)
    assert not x.is_contiguous()
    assert x.stride(1) == 1
    x.fill_(1.0)
    assert layout.tensors(memory, 0)["x"].sum() == 0
    assert int((memory.view(torch.float32) == 1).sum()) == 15


def test_special_values_are_planted_in_one_element_a_call() -> None:
    layout = Layout.plan(SPECS, {"rows": 5, "columns": 3}, "float32", 2)
    memory = torch.zeros(layout.nbytes, dtype=torch.uint8)
    source = torch.Generator().manual_seed(3)
    contents.refill(memory, layout, source)
    contents.plant(memory, layout, {"x": Contents(plant="nan")}, source)
    for call in range(2):
        assert int(layout.tensors(memory, call)["x"].isnan().sum()) == 1


def test_differing_outputs_are_recorded_and_reported_beyond_the_tolerance() -> None:
    layout = Layout.plan(SPECS, {"rows": 2, "columns": 3}, "float32", 3)
    first = torch.zeros(layout.nbytes, dtype=torch.uint8)
    second = first.clone()
    totals = CheckTotals()

    def checked(*, chained: bool = False) -> str | None:
        return totals.check_repeats(layout, (first, second), TOLERANCE, chained=chained)

    assert checked() is None
    assert (totals.repeats_checked, totals.repeats_identical) == (3, 3)
    layout.tensors(second, 1)["x"][0, 0] = 1e-4
    assert checked() is None
    assert (totals.repeats_checked, totals.repeats_identical) == (6, 5)
    layout.tensors(second, 2)["x"][1, 1] = 0.5
    assert "0.5" in str(checked())
    # The second call's result is part of the third's inputs, which then differ.
    assert checked(chained=True) is None
