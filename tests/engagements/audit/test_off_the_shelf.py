"""Check 2: what fits, what nearly fits and what is missing. A fit fails."""

from __future__ import annotations

from typing import Any

import pytest

from engagements.audit.rules import Finding, Needs, Outcome, Source, Sourced, Tried, off_the_shelf
from engagements.audit.rules.inputs import Measured
from engagements.audit.rules.off_the_shelf import Candidate, CoverageFigures
from kernels import coverage
from tests.engagements.audit.inputs import LLAMA_32K, answered, inputs, ratio


def candidates(finding: Finding) -> dict[str, Candidate]:
    assert isinstance(finding.figures, CoverageFigures)
    return {candidate.name: candidate for candidate in finding.figures.candidates}


def library(name: str, **facts: Any) -> coverage.Library:
    usual: dict[str, Any] = {
        "name": name,
        "version": "1.0",
        "read_on": "2026-01-01",
        "documented": "https://example.com",
        "operators": ("flash_attention",),
        "dtypes": ("bfloat16",),
        "architectures": ("sm90",),
        "features": (),
        "lacks": (),
    }
    return coverage.Library(**usual | facts)


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> list[coverage.Library]:
    """The libraries that there are, to be filled by the test."""
    known: list[coverage.Library] = []
    monkeypatch.setattr(coverage, "libraries", lambda: tuple(known))
    return known


NEEDS = Needs(
    definition="flash_attention", dtype="bfloat16", architecture="sm90", features=("window",)
)


def test_what_fits_is_to_be_used(shelf: list[coverage.Library]) -> None:
    shelf += [library("Near", lacks=("window",)), library("Whole", features=("window",))]
    finding = off_the_shelf.find(inputs(needs=answered(NEEDS)))
    assert finding.outcome == Outcome.FAIL
    assert finding.sentence.startswith("Whole 1.0 covers your case")
    assert len(finding.questions) == 1
    assert "Whole 1.0" in finding.questions[0]


def test_what_lacks_something_everywhere_leaves_the_case_uncovered(
    shelf: list[coverage.Library],
) -> None:
    shelf += [library("Near", lacks=("window",)), library("Far", lacks=("window",), dtypes=())]
    finding = off_the_shelf.find(inputs(needs=answered(NEEDS)))
    assert finding.outcome == Outcome.PASS
    assert finding.shown == "Near 1.0: window"
    found = candidates(finding)
    assert (found["Near"].verdict, found["Far"].verdict) == ("nearly", "no")
    assert "Does not fit: Far 1.0 (lacks bfloat16 and window)" in finding.paragraph


def test_what_is_not_documented_is_not_taken_for_no_either(shelf: list[coverage.Library]) -> None:
    shelf += [library("Silent"), library("Near", lacks=("window",))]
    finding = off_the_shelf.find(inputs(needs=answered(NEEDS)))
    assert finding.outcome == Outcome.UNKNOWN
    assert "Silent 1.0" in finding.to_collect[0].what
    assert "window" in finding.to_collect[0].what


def test_a_trial_says_more_than_the_documentation(shelf: list[coverage.Library]) -> None:
    shelf += [library("Silent")]
    tried = answered(Tried(library="Silent", lacks=("window",), ratio=ratio(1.4, 1.6)))
    finding = off_the_shelf.find(inputs(needs=answered(NEEDS), tried=(tried,)))
    assert finding.outcome == Outcome.PASS
    assert candidates(finding)["Silent"].ratio == ratio(1.4, 1.6)
    assert "measured 1.4 to 1.6×" in finding.paragraph


def test_a_run_against_the_library_gives_its_ratio(shelf: list[coverage.Library]) -> None:
    shelf += [library("FlashInfer", lacks=("window",)), library("Other", lacks=("window",))]
    run = Source(kind="run", name="A trial", digest="sha256:" + "cd" * 32)
    words = "flashinfer_cascade flashinfer-python FlashInfer's cascade over a paged KV cache"
    for gained, outcome in ((ratio(1.3, 1.5), "pass"), (ratio(1.05, 1.12), "fail")):
        known = Sourced(value=Measured(baseline=words, ratio=gained), source=run)
        finding = off_the_shelf.find(inputs(needs=answered(NEEDS), measured=(known,)))
        assert candidates(finding)["FlashInfer"].ratio == gained
        assert candidates(finding)["Other"].ratio is None
        assert finding.outcome == outcome
        assert run in finding.evidence
    assert "at most 1.12× end to end over it" in finding.sentence


def test_nobody_looked_is_unknown(shelf: list[coverage.Library]) -> None:
    assert off_the_shelf.find(inputs()).outcome == Outcome.UNKNOWN
    finding = off_the_shelf.find(inputs(needs=answered(NEEDS)))
    assert finding.outcome == Outcome.UNKNOWN
    assert "libraries that have this operator" in finding.to_collect[0].what


def test_the_coverage_data_knows_a_cascade_for_a_shared_prefix() -> None:
    finding = off_the_shelf.find(inputs(needs=answered(LLAMA_32K)))
    fitting = [name for name, found in candidates(finding).items() if found.verdict == "fits"]
    known = coverage.fits(
        "shared_prefix_attention",
        coverage.Needs(
            dtype="bfloat16", architecture="sm90", features=("paging", "prefix_sharing")
        ),
    )
    assert "FlashInfer" in fitting
    assert set(fitting) == {fit.library.name for fit in known if fit.verdict == "fits"}
    assert [source.kind for source in finding.evidence] == ["answer", "catalogue"]
