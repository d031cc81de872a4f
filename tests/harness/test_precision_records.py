"""The trials that are committed: signed, forty of each condition, and what the README says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.precision import shards, tables
from benchmarks.precision.tables import Row
from kernels import protocols

BENCHMARKS = Path(shards.__file__).parents[1]
FILES = sorted((BENCHMARKS / "precision" / "records").glob("*.json.gz"))
LONG = ("100 us", "1 ms", "10 ms")


def _rows(max_replicates: int | None = None) -> dict[str, Row]:
    parts = shards.judged_early(shards.combined(FILES), max_replicates)
    return {row.condition: row for row in tables.rows(parts)}


@pytest.fixture(scope="module")
def found() -> dict[str, Row]:
    """As sealed: each trial's interval at 95%."""
    return _rows()


def test_every_part_is_signed_by_a_key_that_is_known() -> None:
    assert {part["signed"] for part in shards.combined(FILES)} == {"signed by key 664c2d16449a0be8"}


def test_there_are_forty_trials_of_every_condition(found: dict[str, Row]) -> None:
    assert [row.trials for row in found.values()] == [40] * 7


def test_the_readme_shows_the_tables_that_follow_from_them(found: dict[str, Row]) -> None:
    same, power, *_ = tables.markdown(list(found.values())).split("\n\n")
    readme = (BENCHMARKS / "precision" / "README.md").read_text()
    assert same in readme
    assert power in readme


def test_the_same_code_comes_out_as_the_same_within_half_a_percent(found: dict[str, Row]) -> None:
    for name in LONG:
        low, _, high = found[name].ratios
        assert 0.995 < low < high < 1.005
        assert found[name].half_width_most < 0.005
    assert 0.99 < found["10 us"].ratios[0] < found["10 us"].ratios[2] < 1.01


def test_a_candidate_2_5_percent_from_its_target_is_never_judged_wrongly(
    found: dict[str, Row],
) -> None:
    assert found["1.95x"].missed == found["2.05x"].met == 40


def test_a_contracts_first_look_holds_the_truth_in_37_of_forty() -> None:
    early = _rows(protocols.H200.max_replicates)
    assert [early[name].holds_truth for name in ("10 us", *LONG)] == [40, 38, 40, 37]
    assert max(early[name].half_width_most for name in LONG) < 0.005
