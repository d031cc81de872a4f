"""What a verdict cost, as its record says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.harness import __main__ as commands
from benchmarks.harness.cli import cost
from benchmarks.records import records
from benchmarks.verdict import consistency
from tests.harness.samples import twice_as_fast
from tests.harness.softmax import Document

pytestmark = pytest.mark.alone


def test_the_parts_of_a_real_run_add_up_to_all_of_it(honest_record: Document) -> None:
    parts = {part.name: part for part in cost.parts(honest_record)}
    assert sum(part.spent_s for part in parts.values()) == pytest.approx(
        honest_record["elapsed_s"], abs=0.1
    )
    assert sum(part.share for part in parts.values()) == pytest.approx(1)
    assert parts["rounds that count"].spent_s > 0
    assert parts["starting processes, preparation, setup"].spent_s > 0


def test_the_command_prints_shares_and_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = consistency.seal({**twice_as_fast(), "phases_s": {"measuring": 15.0, "starting": 45.0}})
    (tmp_path / "record.json").write_bytes(records.serialize(made, None))
    assert commands.main(["cost", str(tmp_path / "record.json")]) == 0
    said = capsys.readouterr().out
    assert "| rounds that count | 15.0 | 25% |" in said
    assert "| starting processes, preparation, setup | 45.0 | 75% |" in said
    assert "met in 60.0 s: 1 replicate, 3 rounds" in said


def test_what_took_some_time_never_took_0_percent() -> None:
    spent = {"measuring": 0.4, "starting": 99.6, "setup": 0.0}
    shown = cost.table({**twice_as_fast(), "phases_s": spent})
    assert "| rounds that count | 0.4 | 0.4% |" in shown
    assert "| other | 0.0 | 0% |" in shown


def test_a_record_from_before_phases_stays_readable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "record.json").write_bytes(records.serialize(twice_as_fast(), None))
    assert commands.main(["verify", str(tmp_path / "record.json")]) == 0
    assert commands.main(["cost", str(tmp_path / "record.json")]) == 2
    assert "phases_s" in capsys.readouterr().err


def test_changed_phases_fail_the_digest() -> None:
    made = consistency.seal({**twice_as_fast(), "phases_s": {"measuring": 15.0}})
    made["phases_s"]["measuring"] = 1.0
    assert any("changed after it was sealed" in problem for problem in consistency.problems(made))
