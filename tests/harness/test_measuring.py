"""What `python -m kernels measure` and `report` say before anything is measured or read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.published import report_command
from benchmarks.surveying import measure


def test_where_there_is_no_gpu_measuring_says_what_runs_on_a_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "_sees_gpu", lambda: False)
    assert measure.main(["shared_prefix_attention", "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert "--preset tiny or cpu" in message
    assert message.endswith("--preset tiny or cpu\n")
    assert not list(tmp_path.iterdir())


def test_an_unknown_baseline_is_answered_with_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["vector_add", "--preset", "tiny", "--against", "magic", "--out", str(tmp_path)]
    assert measure.main(asked) == 2
    assert "no baseline 'magic'; it has torch_add, compiled" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("form", "expected"),
    [([], "vector_add"), (["--json"], "triton_add"), (["--markdown"], "triton_add")],
)
def test_a_report_covers_the_named_operators(
    form: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report_command.main([*form, "vector_add"]) == 0
    printed = capsys.readouterr().out
    assert expected in printed
    assert "rotary" not in printed
    assert "triton_rotate" not in printed


def test_a_report_in_json_names_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    report_command.main(["vector_add", "--json"])
    assert {one["operator"] for one in json.loads(capsys.readouterr().out)} == {"vector_add"}


def test_a_report_of_what_is_not_there_names_what_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        report_command.main(["magic"])
    assert "no operator 'magic'; there are allreduce_residual_norm" in capsys.readouterr().err
