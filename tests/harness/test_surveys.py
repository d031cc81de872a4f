"""A survey names the strongest baseline, outlives what it measures, and is held to a key."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.published import committed, report_command, reports, surveys
from benchmarks.records import records, signatures
from benchmarks.surveying import survey_runs
from kernels import catalogue

ENVIRONMENT = {
    "device": {"kind": "cuda", "name": "NVIDIA H200", "memory_bytes": 1 << 37, "cache_bytes": None},
    "ceilings": {"copy_bytes_per_s": 4e12, "matmul_flops_per_s": {"bfloat16": 8e14}},
    "python": "3.12.1",
    "platform": "linux",
    "cpu": "a processor",
    "cores": 4,
    "torch": "2.11.0",
    "triton": "3.6.0",
    "cuda": "13.0",
    "driver": "580.1",
    "packages": {},
}


def _solution(name: str, role: str, times: list[tuple[float | None, float | None]]) -> dict:
    lines = []
    for workload, (alone, program) in zip(("large", "small"), times, strict=True):
        for level, us in (("operator", alone), ("program", program)):
            note = "max error 0" if us else "not available: needs a library"
            lines.append(
                {
                    "workload": workload,
                    "level": level,
                    "median_us": us,
                    "low_us": us,
                    "high_us": us,
                    "note": note,
                }
            )
    return {
        "name": name,
        "role": role,
        "title": name,
        "package": "torch",
        "source_digest": None,
        "results": lines,
    }


def _draft() -> dict[str, Any]:
    sizes = {"axes": {"batch": 1}, "operator_calls": 1}
    return {
        "schema": surveys.SCHEMA_NAME,
        "operator": "vector_add",
        "preset": "tiny",
        "dtype": "bfloat16",
        "launch": "graph",
        "sources": catalogue.source_digests("vector_add"),
        "workloads": [
            {"name": "large", "weight": 0.75, "flops": 0, "bytes": 40_000_000, **sizes},
            {"name": "small", "weight": 0.25, "flops": 8_000_000_000, "bytes": 4, **sizes},
        ],
        "solutions": [
            _solution("slow", "baseline", [(40.0, 400.0), (40.0, 400.0)]),
            _solution("quick", "baseline", [(20.0, 200.0), (20.0, 200.0)]),
            _solution("half", "baseline", [(1.0, 1.0), (None, None)]),
            _solution("ours", "candidate", [(10.0, 100.0), (30.0, 300.0)]),
        ],
        "environment": ENVIRONMENT,
        "command": "python -m kernels measure vector_add",
        "started_at": "2026-11-21T12:00:00+00:00",
        "finished_at": "2026-11-21T12:01:00+00:00",
        "elapsed_s": 60.0,
    }


def test_the_strongest_baseline_is_the_quickest_that_ran_everywhere() -> None:
    survey = surveys.load(surveys.serialize(_draft(), None))
    found = surveys.strongest_baseline(survey)
    assert found is not None
    assert (found.name, found.program_us, found.operator_us) == ("quick", 200.0, 20.0)


def test_a_share_of_the_roofline_is_of_the_measured_ceilings_by_weight() -> None:
    survey = surveys.load(surveys.serialize(_draft(), None))
    [ours] = [one for one in surveys.figures(survey) if one.name == "ours"]
    # 10 us to move the bytes of the large one, 10 us to compute the small one.
    assert ours.operator_us == pytest.approx(0.75 * 10 + 0.25 * 30)
    assert ours.roofline_share == pytest.approx(10.0 / 15.0)
    # Shares are of floating-point products; eight bits are quicker than they are.
    draft = _draft()
    draft["environment"]["ceilings"]["matmul_flops_per_s"]["int8"] = 1.5e15
    survey = surveys.load(surveys.serialize(draft, None))
    [ours] = [one for one in surveys.figures(survey) if one.name == "ours"]
    assert ours.roofline_share == pytest.approx(10.0 / 15.0)


def test_one_that_did_not_run_everywhere_has_no_figure_but_a_reason() -> None:
    survey = surveys.load(surveys.serialize(_draft(), None))
    [half] = [one for one in surveys.figures(survey) if one.name == "half"]
    assert half.operator_us is half.program_us is half.roofline_share is None
    assert half.why == "not available: needs a library"


def test_a_survey_is_held_to_the_key_that_signed_it(tmp_path: Path) -> None:
    key = signatures.make_key(tmp_path / "key")
    content = surveys.serialize(_draft(), key)
    known = {key.public.id: key.public}
    assert committed.signature_of(content, known).valid
    assert not committed.signature_of(content, {}).valid
    assert committed.signature_of(surveys.serialize(_draft(), None), known).words == "not signed"
    changed = content.replace(b'"median_us":20', b'"median_us":90')
    assert changed != content
    assert not committed.signature_of(changed, known).valid
    with pytest.raises(surveys.SurveyError, match="changed after it was sealed"):
        surveys.load(changed)


@pytest.mark.parametrize("part", ["workloads", "solutions", "results", "ceilings"])
def test_a_survey_that_no_figure_follows_from_is_refused(part: str) -> None:
    draft = copy.deepcopy(_draft())
    if part == "results":
        draft["solutions"][0]["results"][0]["workload"] = "wide\u200b"
    elif part == "ceilings":
        draft["environment"]["ceilings"]["matmul_flops_per_s"] = {}
    else:
        draft[part].append(draft[part][0])
    with pytest.raises(surveys.SurveyError, match=part):
        surveys.load(surveys.serialize(draft, None))


def test_what_was_packed_to_swell_is_not_unpacked_whole(tmp_path: Path) -> None:
    file = tmp_path / "h200.record.json.gz"
    file.write_bytes(gzip.compress(b" " * 20_000_000, 1))
    assert len(committed.content_of(file)) == records.MAX_BYTES + 1
    with pytest.raises(records.RecordError, match="larger than"):
        committed.record_in(file)


def test_what_is_no_survey_is_said_in_a_line() -> None:
    with pytest.raises(surveys.SurveyError, match="JSON"):
        surveys.load(b'{"schema":')
    with pytest.raises(surveys.SurveyError, match="survey"):
        surveys.load(json.dumps({"schema": surveys.SCHEMA_NAME}).encode())


def test_a_catalogue_without_measurements_has_nothing_to_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reports.reports(tmp_path) == []
    assert report_command.main(["--json", "--folder", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_process_that_dies_costs_its_own_solution_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [(place, name) for place, name in survey_runs.jobs("vector_add", _tiny())]
    begun: list[int] = []

    class Dying:
        def __init__(self, operator: str, preset: str, *, begin: int, **limits: Any) -> None:
            begun.append(begin)
            self.failure: str | None = None
            self._left = [
                i for i in range(begin, len(asked)) if asked[i][1] not in limits["without"]
            ]

        def lines(self, *, until: float) -> Any:
            for index in self._left:
                yield {"trying": index}
                if asked[index][1] == "torch_plain":
                    self.failure = "the process died of signal 11"
                    return
                yield {"job": index, "median_us": 5.0, "low_us": 5, "high_us": 5, "note": ""}

    monkeypatch.setattr(survey_runs, "_Worker", Dying)
    found = survey_runs._answers("vector_add", "tiny", asked, 60.0)
    assert len(begun) == 2
    for _, name, line in found:
        if name == "torch_plain":
            assert line["note"] == "the process died of signal 11"
        else:
            assert line["median_us"] == 5.0


def test_what_runs_far_beyond_the_budget_is_stopped_and_the_rest_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A process that is still importing when its time is up.
    monkeypatch.setattr(survey_runs, "_OVERTIME_S", 0.1)
    asked = survey_runs.jobs("vector_add", _tiny())
    notes = [line["note"] for _, _, line in survey_runs._answers("vector_add", "tiny", asked, 0.01)]
    assert notes[0] == survey_runs.STOPPED
    assert len(notes) == len(asked)


def _tiny() -> Any:
    return catalogue.presets("vector_add")["tiny"]


@pytest.mark.parametrize("operator", ["vector_add", "int8_linear", "residual_norm_quantize"])
def test_every_workload_is_described_as_the_schema_has_it(operator: str) -> None:
    found = survey_runs._workloads(operator, "tiny", catalogue.presets(operator)["tiny"])
    for workload in found:
        assert surveys._WORKLOAD["properties"].keys() == workload.keys()
