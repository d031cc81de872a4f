"""From what was typed and read to what the checks look at; no database in here."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engagements.audit.rules import CHECKS
from engagements.audit.rules.labels import Outcome
from engagements.audit.rules.verdict import examine
from engagements.common.errors import ApplicationError
from engagements.evidence.readers import ComputeFacts, TraceFacts, TrafficFacts, read
from engagements.pitch.rules import (
    Pitch,
    Read,
    inputs_of,
    libraries_of,
    questions,
    reduced,
    traffic_of,
)
from engagements.pitch.rules.reduction import SIZES
from tests.engagements.evidence.traces import CAPTURES

TODAY = dt.date(2026, 11, 21)
FILES = sorted(path.name for path in CAPTURES.iterdir() if path.suffix in (".gz", ".csv"))
FUZZ = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@cache
def read_of(name: str) -> Read:
    return Read(name=name, digest="sha256:" + "0" * 64, facts=read(CAPTURES / name))


@pytest.mark.parametrize("name", FILES)
def test_what_travels_in_a_link_says_after_the_way_what_it_said_before(name: str) -> None:
    for most in SIZES:
        small = reduced(read_of(name), most)
        assert Read.from_data(json.loads(json.dumps(small.as_data()))) == small
        assert reduced(small, most) == small


@pytest.mark.parametrize("name", FILES)
def test_a_reduced_file_comes_to_the_same_outcomes_as_the_whole(name: str) -> None:
    whole = read_of(name)
    small = reduced(whole, SIZES[0])
    pitch = Pitch(kernel_speedup=3.0, weeks=6.0, life_weeks=52.0)
    before, after = (examine(inputs_of(pitch, [each], today=TODAY)) for each in (whole, small))
    assert [each.outcome for each in after.findings] == [each.outcome for each in before.findings]


def test_a_file_says_more_than_a_number_that_was_typed() -> None:
    profile = read_of("prefill.trace.json.gz")
    inputs = inputs_of(Pitch(share=0.9), [profile], today=TODAY)
    assert inputs.trace is not None
    assert isinstance(inputs.trace.value, TraceFacts)
    assert inputs.trace.source.kind == "file"
    assert inputs.share is not None
    assert inputs.share.source.kind == "stated"


def test_every_kind_of_file_finds_its_place() -> None:
    counters = read_of("ladder_raw.ncu.csv")
    inputs = inputs_of(Pitch(traffic=traffic_of("8x4096 90\n16x4096 10")), [counters], today=TODAY)
    assert isinstance(inputs.compute[0].value, ComputeFacts)
    assert isinstance(inputs.traffic and inputs.traffic.value, TrafficFacts)
    assert inputs.traffic is not None
    assert inputs.traffic.source.kind == "stated"


def test_nobody_maintains_it_is_something_else_than_nothing_said() -> None:
    said = {hours: inputs_of(Pitch(upkeep_hours=hours), today=TODAY) for hours in (None, 0.0, 8.0)}
    assert said[None].maintainers is None
    nobody, somebody = said[0.0].maintainers, said[8.0].maintainers
    assert nobody is not None
    assert nobody.value.people == ()
    assert somebody is not None
    assert somebody.value.hours_a_month == 8


def test_a_bill_without_a_currency_is_not_said() -> None:
    assert inputs_of(Pitch(bill_a_month=Decimal(5)), today=TODAY).gpu_bill is None


def test_shapes_are_counted_as_in_a_log() -> None:
    facts = traffic_of("8x4096 80\n 16 x 4096: 15\n\nbatch=1,len=9 5")
    assert facts is not None
    assert (facts.calls, facts.distinct_shapes) == (100, 3)
    assert facts.coverage["1"] == pytest.approx(0.8)
    assert facts.shapes[1].axes == {"shape": "16 x 4096"}
    assert traffic_of(" \n") is None


def test_a_library_fits_unless_it_lacks_something() -> None:
    flash, infer = libraries_of("FlashAttention-4\nFlashInfer: skip connections, fp8\n")
    assert (flash.library, flash.lacks) == ("FlashAttention-4", ())
    assert infer.lacks == ("skip connections", "fp8")


@FUZZ
@given(st.text(max_size=400))
def test_any_text_is_parsed_or_declined_in_one_line(text: str) -> None:
    for parse in (traffic_of, libraries_of):
        said = ""
        try:
            parse(text)
        except ApplicationError as error:
            said = str(error)
        assert "\n" not in said


def test_what_fails_is_asked_first_and_nothing_twice() -> None:
    verdict = examine(inputs_of(Pitch(share=0.4, kernel_speedup=3.0), today=TODAY))
    outcome = {each.check: each.outcome for each in verdict.findings}
    assert outcome["worth"] == Outcome.FAIL
    asked = questions(verdict)
    assert asked[0].check == "worth"
    assert len({each.text for each in asked}) == len(asked)
    assert asked[-1].check is None


def test_every_check_that_does_not_pass_is_asked_about() -> None:
    verdict = examine(inputs_of(Pitch(), today=TODAY))
    assert {each.check for each in questions(verdict)} >= {check.name for check in CHECKS}
