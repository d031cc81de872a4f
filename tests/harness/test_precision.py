"""How precise the referee is, on work whose true ratio is known; figures for a busy machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness.sides import operators
from benchmarks.precision import __main__ as command
from benchmarks.precision import conditions, shards, tables
from benchmarks.precision.synthetic import programs
from benchmarks.published import committed
from benchmarks.records import documents, signatures
from tests.harness.samples import workload_entry

ROOT = Path(__file__).parents[2]
_TRIALS = 1


@pytest.fixture(autouse=True)
def synthetic_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(operators.SEARCH_PATH_VARIABLE, str(conditions.FOLDER))


def _run(*arguments: str | Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.precision", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed part: one trial measured on this machine's processor."""
    folder = tmp_path_factory.mktemp("precision")
    key, out = signatures.make_key(folder / "key"), folder / "part.json"
    # Enough rounds that the fastest is undisturbed: of four it took twice as long at times.
    sizes = ["--trials", str(_TRIALS), "--replicates", "2", "--rounds", "12"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(signatures.KEY_FILE_VARIABLE, str(folder / "key"))
        said = _run("--device", "cpu", *sizes, "--out", out)
    assert "signed by an unknown key" in said
    assert json.loads(out.read_text())["signature"]["key_id"] == key.public.id
    return out


def _rows(path: Path) -> dict[str, tables.Row]:
    return {row.condition: row for row in tables.rows([json.loads(path.read_text())])}


def _fastest(path: Path, condition: str) -> float:
    """The ratio of the sides' fastest rounds: a busy machine only ever lengthens one."""
    trials = json.loads(path.read_text())["trials"]
    rounds = [
        each
        for trial in trials
        if trial["condition"] == condition
        for replicate in trial["replicates"]
        for each in replicate["workloads"][0]["rounds"]
    ]
    sides = ("baseline_us", "candidate_us")
    baseline_us, candidate_us = (min(each[side] for each in rounds) for side in sides)
    return float(baseline_us / candidate_us)


@pytest.mark.alone
def test_the_same_work_on_both_sides_has_a_ratio_of_1(part: Path) -> None:
    row = _rows(part)["2 ms"]
    assert (row.trials, row.true_ratio) == (_TRIALS, 1)
    assert _fastest(part, "2 ms") == pytest.approx(1, rel=0.25)


@pytest.mark.alone
def test_far_candidates_never_get_the_other_verdict(part: Path) -> None:
    found = _rows(part)
    assert found["0.50x"].met == 0
    assert found["4.00x"].missed == 0
    assert _fastest(part, "0.50x") == pytest.approx(0.5, rel=0.25)
    assert _fastest(part, "4.00x") == pytest.approx(4, rel=0.25)


@pytest.mark.alone
def test_every_trial_had_processes_of_its_own(part: Path) -> None:
    found = json.loads(part.read_text())
    replicates = found["benchmark"]["protocol"]["replicates"]
    assert found["pairs"] == _TRIALS * replicates
    assert {len(trial["replicates"]) for trial in found["trials"]} == {replicates}


@pytest.mark.alone
def test_parts_are_combined_into_one_table(part: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**json.loads(part.read_text()), "id": "another"}))
    said = _run("--combine", part, other)
    assert f"| 2 ms | {2 * _TRIALS} |" in said
    assert (
        f"Part 1 of 1 on {json.loads(part.read_text())['device']}: {_TRIALS} of {_TRIALS} trials"
        in said
    )


@pytest.mark.alone
@pytest.mark.parametrize(
    "change",
    [{}, {"id": "another", "device": "another"}],
    ids=["the same part twice", "another device"],
)
def test_parts_of_different_measurements_are_not_combined(
    part: Path, tmp_path: Path, change: dict[str, str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**json.loads(part.read_text()), **change}))
    with pytest.raises(shards.PartsDiffer):
        shards.combined([part, other])


@pytest.mark.alone
@pytest.mark.parametrize("name", ["part.json", "part.json.gz"])
def test_a_part_names_its_signer_and_a_later_change(
    part: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = signatures.make_key(tmp_path / "key")
    monkeypatch.setattr(committed, "known_keys", lambda: {key.public.id: key.public})
    measured, kept = json.loads(part.read_text()), tmp_path / name
    del measured["signature"]
    shards.write(measured, kept, None)
    assert shards.combined([kept])[0]["signed"] == "not signed"
    shards.write(measured, kept, key)
    (found,) = shards.combined([kept])
    assert found["signed"] == f"signed by key {key.public.id}"
    assert tables.rows([found]) == tables.rows([measured])
    if kept.suffix == ".json":
        kept.write_bytes(kept.read_bytes().replace(b'"elapsed_s":', b'"elapsed_s":1'))
        assert "changed after it was signed" in shards.combined([kept])[0]["signed"]
    else:
        kept.write_bytes(kept.read_bytes()[:-20])
        with pytest.raises(shards.PartUnreadable, match="cannot read"):
            shards.combined([kept])


@pytest.mark.parametrize(
    "content",
    [None, "{", "[]", "{}", '{"id":1,"trials":[],"benchmark":1,"device":1,"signature":"me"}'],
    ids=["no file", "not JSON", "a list", "no fields", "an invalid signature"],
)
def test_an_unusable_part_exits_2_with_one_line_naming_its_file(
    content: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "part.json"
    if content is not None:
        file.write_text(content)
    monkeypatch.setattr(sys, "argv", ["precision", "--combine", str(file)])
    assert command.main() == 2
    error = capsys.readouterr().err
    assert str(file) in error
    assert error.count("\n") == 1


def test_a_missing_gpu_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    # By turns with other tests, whose operators are found elsewhere.
    monkeypatch.setenv(operators.SEARCH_PATH_VARIABLE, str(conditions.FOLDER))
    monkeypatch.setattr(sys, "argv", ["precision", "--shard", "1/40"])
    monkeypatch.setattr("benchmarks.harness.sides.isolation.hide_referee", lambda: None)
    assert command.main() == 2
    assert "torch sees no CUDA device here" in capsys.readouterr().err


def test_shards_add_up_to_forty_trials() -> None:
    shards = [command.parser().parse_args(["--shard", f"{index}/3"]) for index in (1, 2, 3)]
    assert sum(command.trials_of(asked) for asked in shards) == 40
    for wrong in ("0/4", "5/4", "1"):
        with pytest.raises(SystemExit):
            command.parser().parse_args(["--shard", wrong])


def test_the_documents_can_be_sealed() -> None:
    for call_us in (1_000, 10_000):
        document = programs.benchmark("cuda", call_us)
        documents.check(document)
        axes = document["workloads"][0]["axes"]
        assert axes["baseline_units"] / axes["candidate_units"] == pytest.approx(2.2, rel=0.02)
    made = conditions.conditions("cuda", 10.0)
    assert [each.true_ratio for each in made] == [1, 1, 1, 1, 1.95, 2.0, 2.05]
    assert [each.baseline_units for each in made[:4]] == [1, 10, 100, 1000]


def _part(ratios: list[float], *, true_ratio: float) -> dict[str, Any]:
    """A part with a trial for each ratio: four replicates that hardly differ."""
    document = conditions.document("cpu", {"replicates": 4})
    condition = conditions.conditions("cpu", 10.0)[0]
    trials = []
    for ratio in ratios:
        spread = (0.999, 1.0, 1.0, 1.001)
        replicates = [
            {"workloads": [workload_entry("units", [(100.0 * ratio * each, 100.0)] * 5)]}
            for each in spread
        ]
        trials.append(
            {
                "condition": "made",
                "true_ratio": true_ratio,
                "replicates": replicates,
                "do_bench": None,
            }
        )
    workload = conditions.workload(condition)
    return {"benchmark": document, "workload": workload, "trials": trials}


def test_a_row_counts_verdicts() -> None:
    (row,) = tables.rows([_part([1.9, 2.0, 2.1], true_ratio=2.0)])
    assert (row.met, row.inconclusive, row.missed) == (1, 1, 1)
    assert (row.above, row.holds_truth, row.below) == (1, 1, 1)
    assert row.ratios == pytest.approx((1.9, 2.0, 2.1), rel=1e-3)
    assert 0.0005 < row.half_width_median < 0.005


def test_trials_of_several_parts_are_counted_together() -> None:
    parts = [_part([1.0, 1.001], true_ratio=1.0), _part([0.999], true_ratio=1.0)]
    (row,) = tables.rows(parts)
    assert (row.trials, row.holds_truth) == (3, 3)
    said = tables.markdown([row])
    assert "| made | 3 | 0.9990 to 1.0010 |" in said
    assert "intervals that hold the truth: 3 (29% to 100%) of 3" in said


def test_a_rate_has_its_exact_interval() -> None:
    # Clopper and Pearson: none of 40 is at most 1 - 0.025 ** (1 / 40).
    assert tables.Count(count=0, trials=40).interval == pytest.approx((0, 1 - 0.025 ** (1 / 40)))
    low, high = tables.Count(count=37, trials=40).interval
    assert (low, high) == pytest.approx((0.7961, 0.9843), abs=1e-4)
    assert str(tables.Count(count=40, trials=40)) == "40 (91% to 100%)"
