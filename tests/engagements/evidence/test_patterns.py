"""Kernel name patterns are bounded in length, memory and time."""

from __future__ import annotations

import time

import pytest

from engagements.evidence.readers import EvidenceError, patterns, read
from tests.engagements.evidence.traces import CAPTURES
from tests.errors import declined


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("", "missing"),
        ("x" * 201, "too_long"),
        ("sdpa(", "malformed"),
        (r"(a)\1", "malformed"),
        ("(a{900}){900}", "too_costly"),
    ],
)
def test_a_pattern_is_declined_with_its_reason(pattern: str, code: str) -> None:
    with declined(f"pattern.{code}"):
        patterns.validate(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*z", "(x+x+)+y"])
def test_an_expression_that_backtracks_elsewhere_takes_linear_time(pattern: str) -> None:
    patterns.validate(pattern)
    started = time.process_time()
    assert patterns.found_in(["a" * 4000 + "!"], pattern) == set()
    assert time.process_time() - started < 1.0


def test_a_search_ends_after_its_time() -> None:
    with declined("pattern.too_slow"):
        patterns.found_in(["a"], "a", within_s=-1.0)


def test_names_are_found_as_they_are_written() -> None:
    names = ["flash_fwd_kernel", "sm90_gemm", "ümlaut\udcff"]
    assert patterns.found_in(names, "flash|ümlaut") == {names[0], names[2]}


def test_a_reader_declines_a_broken_pattern() -> None:
    file = CAPTURES / "streams.trace.json.gz"
    with pytest.raises(EvidenceError):
        read(file, file.name, patterns={"mine": "sdpa("})
